/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "expose.h"
#include "settle.h"
#include "target.h"
#include "unmap.h"

#include <ucs/base/wait.h>
#include <ucs/debug/log_def.h>

#include <inttypes.h>
#include <stdlib.h>

/* Memory that peers may access, until it is withdrawn */


/* Under lock */
static ucs_status_t
try_expose(ucp_fh_t *fh, ucp_fh_part_t *part, const ucp_fh_run_t *run)
{
    ucp_fh_span_t span;
    ucs_status_t status;

    if (ucp_fh_part_find(fh, run) != NULL) {
        return UCS_ERR_ALREADY_EXISTS;
    }

    (void)ucp_fh_span_pages(part->start, part->end - part->start, &span);
    status = ucp_fh_local_expose(&fh->local, &part->exposed, &span);
    if (status == UCS_OK) {
        ucs_list_add_tail(&fh->mems, &part->mem->link);
        ucs_list_add_tail(&part->mem->parts, &part->link);
    }
    return status;
}

/* What was in the place before, and has been unmapped, is waited for: only then
 * is the place new to peers. Under lock, which is left meanwhile */
static void wait_for_unmapped(ucp_fh_t *fh, const ucp_fh_run_t *run)
{
    ucp_fh_unmap_begin(fh);
    while (ucp_fh_unmap_concerns(fh, run)) {
        ucp_fh_unlock(fh);
        ucp_fh_settle(fh);
        ucp_fh_lock(fh);
        if (ucp_fh_unmap_concerns(fh, run)) {
            ucs_mutex_wait(&fh->lock, &fh->cond);
        }
    }
}

static ucs_status_t
expose(ucp_fh_t *fh, ucp_fh_part_t *part, const ucp_fh_run_t *run)
{
    ucs_status_t status;

    ucp_fh_lock(fh);
    wait_for_unmapped(fh, run);
    status = try_expose(fh, part, run);
    /* It may have been unmapped meanwhile. That was told, but not found yet */
    ucp_fh_unmap_begin(fh);
    ucp_fh_unlock(fh);
    ucp_fh_settle(fh);
    return status;
}

/* @return one part that is all of some memory; NULL: there is no memory */
static ucp_fh_part_t *make_part(ucp_fh_t *fh, uint64_t start, uint64_t end)
{
    ucp_fh_part_t *part    = calloc(1, sizeof(*part));
    struct ucp_fh_mem *mem = calloc(1, sizeof(*mem));

    if ((part == NULL) || (mem == NULL)) {
        free(part);
        free(mem);
        return NULL;
    }

    ucs_list_head_init(&mem->parts);
    mem->fh     = fh;
    part->mem   = mem;
    part->start = start;
    part->end   = end;
    return part;
}

ucs_status_t ucp_fh_expose_apart(ucp_fh_t *fh, void *address, size_t length,
                                 ucp_fh_mem_h *mem_p)
{
    uint64_t start = (uintptr_t)address;
    ucp_fh_part_t *part;
    ucs_status_t status;
    ucp_fh_run_t run;

    status = ucp_fh_run_cover(fh->shift, start, length, &run);
    if (status != UCS_OK) {
        return status;
    }

    part = make_part(fh, start, start + length);
    if (part == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    status = ucp_fh_watch_add(&part->mem->watched, &fh->watcher, start,
                              start + length);
    if (status != UCS_OK) {
        goto err_free;
    }

    *mem_p = part->mem;
    status = expose(fh, part, &run);
    if (status != UCS_OK) {
        goto err_watch_remove;
    }
    return UCS_OK;

err_watch_remove:
    ucp_fh_watch_remove(&part->mem->watched);
    ucp_fh_watch_free(&part->mem->watched);
err_free:
    free(part->mem);
    free(part);
    return status;
}

/* Say what memory meets that is exposed already, and what can be done. It may be
 * withdrawn by now */
static void complain(ucp_fh_t *fh, uint64_t start, uint64_t end)
{
    uint64_t first = 0;
    uint64_t last  = 0;
    const ucp_fh_part_t *other;
    ucp_fh_run_t run;

    (void)ucp_fh_run_cover(fh->shift, start, end - start, &run);
    ucp_fh_lock(fh);
    other = ucp_fh_part_find(fh, &run);
    if (other != NULL) {
        first = other->start;
        last  = other->end;
    }
    ucp_fh_unlock(fh);

    ucs_error("firehose: 0x%" PRIx64 " to 0x%" PRIx64 " cannot be exposed: it "
              "shares a bucket of %" PRIu64 " bytes with 0x%" PRIx64 " to 0x%" PRIx64
              ", which is; accepted: memory that has its buckets for itself. "
              "Expose both as one, or choose smaller buckets "
              "(UCP_FH_PARAM_FIELD_BUCKET, from %zu on)", start, end,
              (uint64_t)UCS_BIT(fh->shift), first, last, ucs_rcache_pred_page_size());
}

ucs_status_t ucp_fh_expose(ucp_fh_h fh, void *address, size_t length,
                           ucp_fh_mem_h *mem_p)
{
    uint64_t start      = (uintptr_t)address;
    ucs_status_t status = ucp_fh_expose_apart(fh, address, length, mem_p);

    if (status == UCS_ERR_ALREADY_EXISTS) {
        complain(fh, start, start + length);
    }
    return status;
}

/* Under lock */
static void part_is_gone(ucp_fh_part_t *part, ucs_status_t status)
{
    ucp_fh_mem_h mem = part->mem;

    if (mem->status == UCS_OK) {
        mem->status = status;
    }
    --mem->num_leaving;
    pthread_cond_broadcast(&mem->fh->cond);
    free(part);
}

/* Under lock */
static void withdrawn(ucp_fh_comp_t *self)
{
    part_is_gone(ucs_container_of(self, ucp_fh_part_t, withdraw.comp),
                 self->status);
}

/* Under lock */
static void withdraw(ucp_fh_t *fh, ucp_fh_part_t *part)
{
    ucs_status_t status;

    ++part->mem->num_leaving;
    part->withdraw.comp.func = withdrawn;
    ucs_list_del(&part->link);
    status = ucp_fh_local_withdraw(&fh->local, &part->withdraw, &part->exposed,
                                   &part->exposed.span);
    if (status == UCS_INPROGRESS) {
        ucp_fh_target_recall(fh, &part->withdraw.place.run);
    } else {
        part_is_gone(part, status);
    }
}

/* Withdraw what is exposed of it still. Under lock */
static void withdraw_all(ucp_fh_t *fh, ucp_fh_mem_h mem)
{
    ucp_fh_part_t *part, *next;

    ucp_fh_unmap_begin(fh);
    ucs_list_del(&mem->link);
    ucs_list_for_each_safe(part, next, &mem->parts, link) {
        withdraw(fh, part);
    }
}

/* Under lock, which is left meanwhile. Peers may wait for what this thread does in
 * @a help, of which nothing tells that there is something to do */
static void
wait_for_parts(ucp_fh_mem_h mem, void (*help)(void *arg), void *arg)
{
    ucp_fh_t *fh = mem->fh;

    while (mem->num_leaving > 0) {
        if (help == NULL) {
            ucs_mutex_wait(&fh->lock, &fh->cond);
            continue;
        }

        ucp_fh_unlock(fh);
        help(arg);
        ucs_sleep_shortly();
        ucp_fh_lock(fh);
    }
}

ucs_status_t ucp_fh_unexpose(ucp_fh_mem_h mem)
{
    return ucp_fh_unexpose_with(mem, NULL, NULL);
}

ucs_status_t ucp_fh_unexpose_with(ucp_fh_mem_h mem, void (*help)(void *arg), void *arg)
{
    ucp_fh_t *fh = mem->fh;
    ucs_status_t status;

    ucp_fh_lock(fh);
    withdraw_all(fh, mem);
    ucp_fh_unlock(fh);
    ucp_fh_settle(fh);

    ucp_fh_lock(fh);
    wait_for_parts(mem, help, arg);
    status = mem->status;
    ucp_fh_unlock(fh);

    ucp_fh_watch_remove(&mem->watched);
    ucp_fh_watch_free(&mem->watched);
    free(mem);
    return status;
}
