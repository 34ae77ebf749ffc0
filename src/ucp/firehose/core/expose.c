/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "settle.h"
#include "target.h"

#include <stdlib.h>

/* Memory that peers may access, until it is withdrawn */


/* Under lock */
static ucs_status_t
check_apart(const ucp_fh_t *fh, const ucp_fh_run_t *run)
{
    struct ucp_fh_mem *mem;

    ucs_list_for_each(mem, &fh->mems, link) {
        if (ucp_fh_run_overlaps(&mem->exposed.run, run)) {
            return UCS_ERR_ALREADY_EXISTS;
        }
    }

    return UCS_OK;
}

/* Under lock */
static ucs_status_t
expose(ucp_fh_t *fh, ucp_fh_mem_h mem, const ucp_fh_run_t *run)
{
    ucs_status_t status = check_apart(fh, run);

    if (status != UCS_OK) {
        return status;
    }

    status = ucp_fh_local_expose(&fh->local, &mem->exposed, run);
    if (status == UCS_OK) {
        ucs_list_add_tail(&fh->mems, &mem->link);
    }
    return status;
}

ucs_status_t ucp_fh_expose(ucp_fh_h fh, void *address, size_t length,
                           ucp_fh_mem_h *mem_p)
{
    ucp_fh_mem_h mem;
    ucs_status_t status;
    ucp_fh_run_t run;

    status = ucp_fh_run_cover(fh->shift, (uintptr_t)address, length, &run);
    if (status != UCS_OK) {
        return status;
    }

    mem = calloc(1, sizeof(*mem));
    if (mem == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    mem->fh    = fh;
    mem->start = (uintptr_t)address;
    mem->end   = mem->start + length;
    ucp_fh_lock(fh);
    status = expose(fh, mem, &run);
    ucp_fh_unlock(fh);
    if (status != UCS_OK) {
        free(mem);
        return status;
    }

    *mem_p = mem;
    return UCS_OK;
}

/* Under lock */
static void withdrawn(ucp_fh_comp_t *self)
{
    ucp_fh_mem_h mem = ucs_container_of(self, struct ucp_fh_mem, withdraw.comp);

    mem->is_done = 1;
    pthread_cond_broadcast(&mem->fh->cond);
}

ucs_status_t ucp_fh_unexpose(ucp_fh_mem_h mem)
{
    ucp_fh_t *fh     = mem->fh;
    ucp_fh_run_t run = mem->exposed.run;
    ucs_status_t status;

    mem->withdraw.comp.func = withdrawn;
    ucp_fh_lock(fh);
    ucs_list_del(&mem->link);
    status = ucp_fh_local_withdraw(&fh->local, &mem->withdraw, &mem->exposed,
                                   &run);
    if (status == UCS_INPROGRESS) {
        ucp_fh_target_recall(fh, &mem->withdraw.recall);
    }
    ucp_fh_unlock(fh);
    ucp_fh_settle(fh);

    if (status == UCS_INPROGRESS) {
        ucp_fh_lock(fh);
        while (!mem->is_done) {
            pthread_cond_wait(&fh->cond, &fh->lock);
        }
        status = mem->withdraw.comp.status;
        ucp_fh_unlock(fh);
    }

    free(mem);
    return status;
}
