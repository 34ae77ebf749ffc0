/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "md.h"
#include "domain.h"
#include "memlock.h"

#include <ucs/base/align.h>
#include <ucs/rcache_pred/predict/policy.h>
#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/stat/stat.h>

#include <stdatomic.h>
#include <stdlib.h>

/* The note of a registration past the cache: its bytes count within the bounds until UCX
 * has deregistered the memory */
typedef struct counted {
    uct_predreg_owner_t owner;
    uint64_t            bytes; /* Bytes of all pages of the memory */
    size_t              pool;  /* Bytes of the memory if it is a pool of UCX, else 0 */
    ucs_rcache_pred_pool_t kind; /* Of the pool */
} counted_t;

/* The memory of UCX's own pools with an adapter, once a process communicates: 33 to 76 MB
 * were seen with UCX 1.13 and 1.18 */
#define MAX_POOLS (80ul << 20)

static uct_predreg_memlock_t memlock = {.sys = &uct_predreg_memlock_linux};


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

    /* Without a lock, because lowering the bound deregisters memory. If two threads come
     * here at once, the last one to set the bound sees the bytes that the other one has
     * counted. */
    do {
        max_bytes = uct_predreg_max_bytes(&core->knobs);
        ucs_rcache_pred_set_max_bytes(core->pred, max_bytes);
    } while (max_bytes != uct_predreg_max_bytes(&core->knobs));
}

void uct_predreg_pool_add(uct_predreg_core_t *core, const void *address, size_t length)
{
    uct_predreg_pool_begin(core, uct_predreg_pool_of(address), length);
    uct_predreg_publish(core);
}

/* Note memory that was registered, and the note as the owner of the handle. @return NULL
 * if there is no memory for the note. */
static counted_t *
note(uct_predreg_domain_t *domain, uct_mem_h memh, const counted_t *values)
{
    counted_t *counted = malloc(sizeof(*counted));

    if (counted == NULL) {
        return NULL;
    }

    *counted = *values;
    if (uct_predreg_own(domain, memh, &counted->owner) != UCS_OK) {
        free(counted);
        return NULL;
    }
    return counted;
}

/* Deregister the memory of a note, and free the note. If UCX refuses, the memory is still
 * pinned, so its bytes still count: until the next attempt, or for good if there is no
 * memory for a new note.
 * @param [out] values_p  A copy of the note. */
static ucs_status_t
deregister(uct_predreg_domain_t *domain, const uct_md_mem_dereg_params_t *params,
           uct_predreg_owner_t *owner, counted_t *values_p)
{
    counted_t *counted = ucs_container_of(owner, counted_t, owner);
    ucs_status_t status;

    *values_p = *counted;
    uct_predreg_disown(domain, params->memh);
    free(counted);
    status = uct_predreg_pass_mem_dereg(domain, params);
    if (status != UCS_OK) {
        (void)note(domain, params->memh, values_p);
    }
    return status;
}

static uint64_t bytes_of(const void *address, size_t length)
{
    return ucs_rcache_pred_pages((uintptr_t)address, length, ucs_page_size()) *
           ucs_page_size();
}

static ucs_status_t
foreign_end(uct_predreg_owner_t *owner, uct_predreg_domain_t *domain,
            const uct_md_mem_dereg_params_t *params)
{
    counted_t foreign;
    ucs_status_t status;

    status = deregister(domain, params, owner, &foreign);
    if (status == UCS_OK) {
        ucs_relaxed_sub(&memlock.bytes, foreign.bytes);
        if (foreign.pool > 0) {
            uct_predreg_pool_end(foreign.kind, foreign.pool);
        }
        update_bound(domain->core);
    }
    return status;
}

void uct_predreg_foreign_add(uct_predreg_domain_t *domain, uct_mem_h memh,
                             void *address, size_t length, int is_pool)
{
    uct_predreg_core_t *core = domain->core;
    const counted_t foreign  = {
        .owner = {foreign_end},
        .bytes = bytes_of(address, length),
        .pool  = is_pool ? length : 0,
        .kind  = uct_predreg_pool_of(address)
    };

    if (note(domain, memh, &foreign) == NULL) {
        return; /* Without a note only the kernel counts the memory */
    }

    ucs_relaxed_add(&memlock.bytes, foreign.bytes);
    if (is_pool) {
        uct_predreg_pool_begin(core, foreign.kind, length);
    }
    update_bound(core);
    uct_predreg_publish(core);
}

static void pinned_release(uct_predreg_core_t *core, uint64_t bytes)
{
    (void)ucs_rcache_pred_release(core->pred,
                                  UCS_RCACHE_PRED_SUBSYSTEM_FIREHOSE, bytes, 1);
}

static ucs_status_t
pinned_end(uct_predreg_owner_t *owner, uct_predreg_domain_t *domain,
           const uct_md_mem_dereg_params_t *params)
{
    counted_t pinned;
    ucs_status_t status;

    status = deregister(domain, params, owner, &pinned);
    if (status == UCS_OK) {
        pinned_release(domain->core, pinned.bytes);
    }
    return status;
}

ucs_status_t uct_predreg_pinned_reg(uct_predreg_domain_t *domain,
                                    void *address, size_t length,
                                    unsigned flags, uct_mem_h *memh_p)
{
    uct_predreg_core_t *core = domain->core;
    const counted_t pinned   = {
        .owner = {pinned_end},
        .bytes = bytes_of(address, length)
    };
    ucs_status_t status;

    status = ucs_rcache_pred_reserve(core->pred,
                                     UCS_RCACHE_PRED_SUBSYSTEM_FIREHOSE,
                                     pinned.bytes, 1);
    if (status != UCS_OK) {
        return status;
    }

    status = uct_predreg_try_mem_reg(domain, address, length,
                                     flags | UCT_MD_MEM_FLAG_HIDE_ERRORS, memh_p);
    if ((status == UCS_OK) && (note(domain, *memh_p, &pinned) == NULL)) {
        (void)uct_predreg_dereg_handle(domain, *memh_p);
        status = UCS_ERR_NO_MEMORY;
    }

    if (status != UCS_OK) {
        pinned_release(core, pinned.bytes);
    }
    return status;
}

void uct_predreg_foreign_reset(void)
{
    atomic_init(&memlock.bytes, 0);
    uct_predreg_pools_reset();
}
