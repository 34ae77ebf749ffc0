/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "md.h"

#include <uct/ib/predreg/core/state.h>

#include <stdatomic.h>
#include <string.h>

/*
 * Counts UCX's own pools by kind. Their names tell the kinds: UCX names the pool for which
 * it allocates memory, and registers the memory afterwards.
 */


/* Bytes of the pools of each kind now, and of all pools. Written by any thread that
 * registers or deregisters a pool. Relaxed, as the counters of the
 * core, which have the most so far */
static _Atomic(uint64_t) kinds_now[UCS_RCACHE_PRED_POOL_LAST];
static _Atomic(uint64_t) bytes_now;

/* What this thread has allocated for UCX last, and the kind of pool by its name */
static __thread struct {
    const void             *address;
    ucs_rcache_pred_pool_t kind;
} allocated;


/* The beginnings of the names that UCX gives its pools (uct_iface_mpool_init() in uct/ib,
 * and ucp_worker.c, of 1.13 to 1.23). The first one that fits counts */
ucs_rcache_pred_pool_t uct_predreg_pool_kind(const char *name)
{
    static const struct {
        const char             *begin;
        ucs_rcache_pred_pool_t kind;
    } kinds[] = {
        {"rc_recv", UCS_RCACHE_PRED_POOL_RC_RECEIVE},
        {"rc_", UCS_RCACHE_PRED_POOL_RC_SEND},
        {"tag_eager_send", UCS_RCACHE_PRED_POOL_RC_SEND},
        {"ud_recv", UCS_RCACHE_PRED_POOL_UD_RECEIVE},
        {"ud_", UCS_RCACHE_PRED_POOL_UD_SEND},
        {"ucp_", UCS_RCACHE_PRED_POOL_UCP}
    };
    size_t i;

    for (i = 0; i < ucs_static_array_size(kinds); ++i) {
        if (!strncmp(name, kinds[i].begin, strlen(kinds[i].begin))) {
            return kinds[i].kind;
        }
    }

    return UCS_RCACHE_PRED_POOL_OTHER;
}

void uct_predreg_pool_allocated(const void *address, const char *name)
{
    allocated.address = address;
    allocated.kind    = uct_predreg_pool_kind(name);
}

ucs_rcache_pred_pool_t uct_predreg_pool_of(const void *address)
{
    return (allocated.address == address) ? allocated.kind :
                                            UCS_RCACHE_PRED_POOL_OTHER;
}

void uct_predreg_pool_begin(uct_predreg_core_t *core, ucs_rcache_pred_pool_t kind,
                            size_t length)
{
    uint64_t of_kind = ucs_relaxed_add(&kinds_now[kind], length) + length;
    uint64_t bytes   = ucs_relaxed_add(&bytes_now, length) + length;

    ucs_relaxed_raise(&core->pool_kinds[kind], of_kind);
    ucs_relaxed_raise(&core->pool_bytes, bytes);
}

void uct_predreg_pool_end(ucs_rcache_pred_pool_t kind, size_t length)
{
    ucs_relaxed_sub(&kinds_now[kind], length);
    ucs_relaxed_sub(&bytes_now, length);
}

void uct_predreg_pools_reset(void)
{
    unsigned i;

    for (i = 0; i < UCS_RCACHE_PRED_POOL_LAST; ++i) {
        atomic_init(&kinds_now[i], 0);
    }
    atomic_init(&bytes_now, 0);
}
