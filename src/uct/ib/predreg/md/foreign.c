/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "md.h"
#include "domain.h"
#include "memlock.h"

#include <ucs/base/page.h>
#include <ucs/rcache_pred/predict/policy.h>
#include <uct/ib/predreg/core/job.h>
#include <uct/ib/predreg/core/state.h>



/* Note a registration. @return UCS_ERR_NO_MEMORY if there is none to do so. */
static ucs_status_t note_firehose(uct_predreg_firehose_t *firehose,
                                      uct_mem_h memh, uint64_t bytes)
{
    khiter_t iter;
    int ret;

    ucs_mutex_lock(&firehose->lock);
    iter = kh_put(uct_predreg_firehose, &firehose->bytes, (uintptr_t)memh,
                  &ret);
    if (ret != UCS_KH_PUT_FAILED) {
        kh_val(&firehose->bytes, iter) = bytes;
    }
    ucs_mutex_unlock(&firehose->lock);
    return (ret == UCS_KH_PUT_FAILED) ? UCS_ERR_NO_MEMORY : UCS_OK;
}

/* Forget a registration before its end: afterwards another registration may get the
 * handle. @return the bytes of the registration; 0: it was not noted. */
static uint64_t take_firehose(uct_predreg_firehose_t *firehose,
                                   uct_mem_h memh)
{
    uint64_t bytes = 0;
    khiter_t iter;

    ucs_mutex_lock(&firehose->lock);
    iter = kh_get(uct_predreg_firehose, &firehose->bytes, (uintptr_t)memh);
    if (iter != kh_end(&firehose->bytes)) {
        bytes = kh_val(&firehose->bytes, iter);
        kh_del(uct_predreg_firehose, &firehose->bytes, iter);
    }
    ucs_mutex_unlock(&firehose->lock);
    return bytes;
}

/* The memory of UCX's own pools with an adapter, once a process communicates: 33 to 76 MB
 * were seen with UCX 1.13 and 1.18 */
#define MAX_POOLS (80ul << 20)

static uct_predreg_memlock_t memlock =
        UCT_PREDREG_MEMLOCK_INITIALIZER(memlock, &uct_predreg_memlock_linux);


uint64_t uct_predreg_max_bytes(const uct_predreg_knobs_t *knobs)
{
    return uct_predreg_memlock_bound(&memlock, knobs->max_pinned);
}

int uct_predreg_has_bounds(const uct_predreg_knobs_t *knobs)
{
    return (uct_predreg_max_bytes(knobs) != UINT64_MAX) ||
           (knobs->max_regions != ULONG_MAX) ||
           (knobs->node_max_pinned != SIZE_MAX) ||
           (knobs->node_max_regions != ULONG_MAX);
}

int uct_predreg_pools_are_limited(void)
{
    return uct_predreg_memlock_limit(&memlock) < MAX_POOLS;
}

static void update_bound(uct_predreg_core_t *core)
{
    uint64_t max_bytes;

    /* No lock is held, because lowering the bound deregisters memory. If two threads come
     * here at once, the last one to read the counts sets the right bound. */
    do {
        max_bytes = uct_predreg_max_bytes(&core->knobs);
        ucs_rcache_pred_set_max_bytes(core->pred, max_bytes);
    } while (max_bytes != uct_predreg_max_bytes(&core->knobs));
}

static void update_pool_bytes(uct_predreg_core_t *core)
{
    uint64_t peak = uct_predreg_memlock_pool_peak(&memlock);
    uint64_t told = atomic_load_explicit(&core->pool_bytes,
                                         memory_order_relaxed);

    /* Relaxed: nothing else depends on the number. The number only grows: of two threads,
     * the one with the greater value wins. */
    while ((told < peak) &&
           !atomic_compare_exchange_weak_explicit(&core->pool_bytes, &told,
                                                  peak, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
}

void uct_predreg_pool_add(uct_predreg_core_t *core, size_t length)
{
    uct_predreg_memlock_add_pool(&memlock, length);
    update_pool_bytes(core);
    uct_predreg_publish(core);
}

void uct_predreg_foreign_add(uct_predreg_core_t *core, uct_mem_h memh,
                             void *address, size_t length, int is_pool)
{
    if (uct_predreg_memlock_add(&memlock, memh, address, length, is_pool) !=
        UCS_OK) {
        return; /* There is no memory for a note, but the kernel counts the
                   registration */
    }

    update_pool_bytes(core);
    update_bound(core);
    uct_predreg_publish(core);
}

void uct_predreg_foreign_remove(uct_predreg_core_t *core, uct_mem_h memh)
{
    if (uct_predreg_memlock_remove(&memlock, memh) == UCS_OK) {
        update_bound(core);
    }
}

/* The share of the process in the bound of the node, if all ranks of the job on the node
 * take as much */
static uint64_t get_node_share(const uct_predreg_core_t *core, size_t page)
{
    uint64_t node = core->knobs.node_max_pinned;

    if (node == SIZE_MAX) {
        return UINT64_MAX;
    }

    node /= uct_predreg_job_local_size();
    return node - ucs_min(node, ucs_rcache_pred_pieces_reserve(page));
}

uint64_t uct_predreg_firehose_room(uct_predreg_core_t *core, unsigned domains)
{
    size_t page   = ucs_page_size();
    uint64_t max  = uct_predreg_max_bytes(&core->knobs);
    uint64_t node = get_node_share(core, page);

    if (domains == 0) {
        /* Relaxed: UCP opens the domains of a context before the context is
         * used */
        domains = atomic_load_explicit(&core->num_managed,
                                       memory_order_relaxed);
    }

    if ((core->pred == NULL) || (domains == 0) ||
        ((max == UINT64_MAX) && (node == UINT64_MAX))) {
        return UINT64_MAX;
    }

    max -= ucs_rcache_pred_bound_reserve(max, page);
    return ucs_min(max, node) / domains;
}

/* Register memory after its room was reserved */
static ucs_status_t firehose_reg(uct_predreg_domain_t *domain, void *address,
                                 size_t length, unsigned flags, uint64_t bytes,
                                 uct_mem_h *memh_p)
{
    uct_predreg_core_t *core = domain->core;
    ucs_status_t status;

    status = uct_predreg_try_mem_reg(domain, address, length,
                                     flags | core->compat->quiet_flag, memh_p);
    if (status != UCS_OK) {
        return status;
    }

    status = note_firehose(&core->firehose, *memh_p, bytes);
    if (status != UCS_OK) {
        (void)uct_predreg_dereg_handle(domain, *memh_p);
    }
    return status;
}

static void firehose_release(uct_predreg_core_t *core, uint64_t bytes)
{
    (void)ucs_rcache_pred_release(core->pred,
                                  UCS_RCACHE_PRED_SUBSYSTEM_FIREHOSE, bytes, 1);
}

ucs_status_t uct_predreg_firehose_reg(uct_predreg_domain_t *domain,
                                      void *address, size_t length,
                                      unsigned flags, uct_mem_h *memh_p)
{
    uct_predreg_core_t *core = domain->core;
    uint64_t page            = ucs_page_size();
    uint64_t bytes           = ucs_rcache_pred_pages((uintptr_t)address, length,
                                                     page) * page;
    ucs_status_t status;

    status = ucs_rcache_pred_reserve(core->pred,
                                     UCS_RCACHE_PRED_SUBSYSTEM_FIREHOSE, bytes,
                                     1);
    if (status != UCS_OK) {
        return status;
    }

    status = firehose_reg(domain, address, length, flags, bytes, memh_p);
    if (status != UCS_OK) {
        firehose_release(core, bytes);
    }
    return status;
}

ucs_status_t
uct_predreg_firehose_dereg(uct_predreg_domain_t *domain,
                           const uct_md_mem_dereg_params_t *params)
{
    uct_predreg_core_t *core = domain->core;
    uint64_t bytes           = take_firehose(&core->firehose,
                                                         params->memh);
    ucs_status_t status;

    if (bytes == 0) {
        return UCS_ERR_NO_ELEM;
    }

    status = uct_predreg_pass_mem_dereg(domain, params);
    if (status == UCS_OK) {
        firehose_release(core, bytes);
    } else {
        /* The memory is still pinned. Without memory for a note, its room stays taken for
         * good */
        (void)note_firehose(&core->firehose, params->memh, bytes);
    }
    return status;
}

void uct_predreg_foreign_reset(uct_predreg_core_t *core)
{
    uct_predreg_memlock_reset(&memlock);
    /* The table is not freed: another thread of the parent may have been in the allocator
     * at the fork */
    kh_init_inplace(uct_predreg_firehose, &core->firehose.bytes);
    ucs_mutex_init(&core->firehose.lock, UCS_RANK_FH_BOUND, 0);
    atomic_init(&core->firehose.requests, 0);
    atomic_init(&core->firehose.hits, 0);
}
