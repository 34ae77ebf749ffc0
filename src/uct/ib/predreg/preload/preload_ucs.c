/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "preload.h"

#include <ucs/memory/rcache.h>

/*
 * Overriding functions for those that libucp imports from libucs.
 */


/*
 * From UCX 1.16 to 1.21 UCP asks its registration cache to invalidate the memory
 * of a request whose peer has failed (ucp_request_memh_invalidate()), even if
 * that cache is off, and so crashes. It ends the use of the memory, with the flag
 * that asks for invalidation, right after this call, and its completion runs
 * later, when the worker makes progress.
 */
PREDREG_EXPORT void
ucs_rcache_region_invalidate(ucs_rcache_t *rcache, ucs_rcache_region_t *region,
                             ucs_rcache_invalidate_comp_func_t cb, void *arg)
{
    unsigned ucx = predreg_ucx(PREDREG_CALLER);

    if (ucs_unlikely(rcache == NULL)) {
        cb(arg);
        return;
    }

    PREDREG_REAL(ucx, ucs_rcache_region_invalidate)(rcache, region, cb, arg);
}
