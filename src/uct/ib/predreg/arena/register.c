/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "register.h"
#include "system.h"

#include <ucs/debug/log_def.h>


static size_t max_handles(uint32_t num_slabs)
{
    return (size_t)num_slabs * UCT_PREDREG_ARENA_DOMAINS;
}

static size_t slabs_size(uint32_t num_slabs)
{
    return num_slabs * sizeof(uct_predreg_arena_memhs_t);
}

size_t uct_predreg_arena_regs_memory_size(uint32_t num_slabs)
{
    return slabs_size(num_slabs) +
           uct_predreg_handles_memory_size(max_handles(num_slabs));
}

void uct_predreg_arena_regs_init(uct_predreg_arena_regs_t *regs, void *memory)
{
    regs->slabs = memory;
    uct_predreg_handles_init(&regs->handles, max_handles(regs->num_slabs),
                             (char*)memory + slabs_size(regs->num_slabs));
    ucs_mutex_init(&regs->lock, UCS_RANK_ARENA_REGS, 0);
}

void uct_predreg_arena_regs_cleanup(uct_predreg_arena_regs_t *regs)
{
    ucs_mutex_destroy(&regs->lock);
}

static void *
slab_memory(const uct_predreg_arena_regs_t *regs, uint32_t slab)
{
    return (void*)(regs->base + (slab * regs->spacing));
}

static int next_handle(void *arg, size_t *pos_p, uint64_t *handle_p,
                       uint32_t *slab_p)
{
    const uct_predreg_arena_regs_t *regs = arg;
    uct_mem_h memh;

    while (*pos_p < max_handles(regs->num_slabs)) {
        *slab_p = *pos_p / UCT_PREDREG_ARENA_DOMAINS;
        memh    = regs->slabs[*slab_p].known[*pos_p %
                                             UCT_PREDREG_ARENA_DOMAINS];
        ++*pos_p;
        if (memh != NULL) {
            *handle_p = (uintptr_t)memh;
            return 1;
        }
    }
    return 0;
}

/* Let the handles be looked up that are known by now */
static void note_known(uct_predreg_arena_regs_t *regs)
{
    uct_predreg_handles_set(&regs->handles, next_handle, regs);
}

/* Let a slab consist of huge pages before it is pinned, since pinned pages stay what they
 * are; unless the program has said of some of it what pages it wants */
static void collapse(uct_predreg_arena_regs_t *regs, uint32_t slab)
{
    void *start   = slab_memory(regs, slab);
    size_t length = regs->slabs[slab].length;

    if (!uct_predreg_altered_has(regs->advised, (uintptr_t)start,
                                 (uintptr_t)start + length)) {
        uct_predreg_system_collapse(start, length);
    }
}

/* Register a slab in a domain. It is known then, if not in the table yet */
static ucs_status_t
enter(uct_predreg_arena_regs_t *regs, uint32_t slab, unsigned number)
{
    const uct_predreg_arena_reg_ops_t *ops = &regs->ops;
    size_t length                          = regs->slabs[slab].length;
    ucs_status_t status;

    status = ops->reserve(ops->arg, length);
    if (status != UCS_OK) {
        return status;
    }

    collapse(regs, slab);
    status = ops->mem_reg(regs->domains[number], slab_memory(regs, slab),
                          length, regs->flags,
                          &regs->slabs[slab].known[number]);
    if (status != UCS_OK) {
        regs->slabs[slab].known[number] = NULL;
        ops->release(ops->arg, length);
    }
    return status;
}

/* Let uses get what is in the table by now */
static void show(uct_predreg_arena_regs_t *regs, uint32_t slab,
                 unsigned number)
{
    uct_predreg_arena_memhs_t *memhs = &regs->slabs[slab];

    /* Release: who gets the handle finds it in the table */
    atomic_store_explicit(&memhs->memhs[number], memhs->known[number],
                          memory_order_release);
}

/* Deregister what is not in the table any more */
static ucs_status_t
leave(uct_predreg_arena_regs_t *regs, uint32_t slab, uct_mem_h memh,
      unsigned number)
{
    const uct_predreg_arena_reg_ops_t *ops = &regs->ops;
    ucs_status_t status;

    status = ops->mem_dereg(regs->domains[number], memh);
    if (status != UCS_OK) {
        ucs_warn("memory of the arena stays registered: %s",
                 ucs_status_string(status));
    } else {
        ops->release(ops->arg, regs->slabs[slab].length);
    }
    return status;
}

/* Let no use get a registration any more. @return what it was */
static uct_mem_h hide(uct_predreg_arena_regs_t *regs, uint32_t slab,
                      unsigned number)
{
    uct_predreg_arena_memhs_t *memhs = &regs->slabs[slab];
    uct_mem_h memh                   = memhs->known[number];

    memhs->known[number] = NULL;
    /* Relaxed: nobody uses it, see the callers */
    atomic_store_explicit(&memhs->memhs[number], NULL, memory_order_relaxed);
    return memh;
}

static int find_free(const uct_predreg_arena_regs_t *regs)
{
    int number;

    for (number = 0; number < UCT_PREDREG_ARENA_DOMAINS; ++number) {
        if (regs->domains[number] == NULL) {
            return number;
        }
    }
    return -1;
}

int uct_predreg_arena_regs_add(uct_predreg_arena_regs_t *regs, void *domain)
{
    int number;

    ucs_mutex_lock(&regs->lock);
    number = find_free(regs);
    if (number >= 0) {
        regs->domains[number] = domain;
    }
    ucs_mutex_unlock(&regs->lock);
    return number;
}

void uct_predreg_arena_regs_remove(uct_predreg_arena_regs_t *regs,
                                   unsigned number)
{
    uct_mem_h memh;
    uint32_t slab;

    ucs_mutex_lock(&regs->lock);
    for (slab = 0; slab < regs->num_slabs; ++slab) {
        memh = hide(regs, slab, number);
        if (memh != NULL) {
            note_known(regs);
            (void)leave(regs, slab, memh, number);
        }
    }
    regs->domains[number] = NULL;
    ucs_mutex_unlock(&regs->lock);
}

/* Deregister a slab everywhere, which nobody uses */
static ucs_status_t leave_all(uct_predreg_arena_regs_t *regs, uint32_t slab)
{
    uct_mem_h memhs[UCT_PREDREG_ARENA_DOMAINS];
    ucs_status_t result = UCS_OK;
    ucs_status_t status;
    unsigned number;

    for (number = 0; number < UCT_PREDREG_ARENA_DOMAINS; ++number) {
        memhs[number] = hide(regs, slab, number);
    }
    note_known(regs);

    for (number = 0; number < UCT_PREDREG_ARENA_DOMAINS; ++number) {
        if (memhs[number] != NULL) {
            status = leave(regs, slab, memhs[number], number);
            result = (status != UCS_OK) ? status : result;
        }
    }
    return result;
}

ucs_status_t uct_predreg_arena_regs_op_reg(void *arg, void *start,
                                           size_t length, void **handle_p)
{
    uct_predreg_arena_regs_t *regs = arg;
    uint32_t slab       = ((uintptr_t)start - regs->base) / regs->spacing;
    ucs_status_t status = UCS_OK;
    unsigned number;

    ucs_mutex_lock(&regs->lock);
    regs->slabs[slab].length = length;
    for (number = 0; (number < UCT_PREDREG_ARENA_DOMAINS) && (status == UCS_OK);
         ++number) {
        if (regs->domains[number] != NULL) {
            status = enter(regs, slab, number);
        }
    }

    if (status != UCS_OK) {
        (void)leave_all(regs, slab);
        goto out;
    }

    note_known(regs);
    for (number = 0; number < UCT_PREDREG_ARENA_DOMAINS; ++number) {
        show(regs, slab, number);
    }
    *handle_p = &regs->slabs[slab];
out:
    ucs_mutex_unlock(&regs->lock);
    return status;
}

ucs_status_t uct_predreg_arena_regs_op_dereg(void *arg, void *handle)
{
    uct_predreg_arena_regs_t *regs   = arg;
    uct_predreg_arena_memhs_t *memhs = handle;

    /* What UCX could not deregister is lost: it is not tried again, and counts
     * within the bounds for good. The slab is given back all the same: the
     * kernel keeps the pages for the adapter as long as need be */
    ucs_mutex_lock(&regs->lock);
    (void)leave_all(regs, memhs - regs->slabs);
    ucs_mutex_unlock(&regs->lock);
    return UCS_OK;
}
