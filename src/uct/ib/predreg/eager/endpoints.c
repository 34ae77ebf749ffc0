/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "endpoints.h"

#include <ucs/debug/log_def.h>


_Atomic uint64_t uct_predreg_endpoints[1 << UCT_PREDREG_ENDPOINTS_BITS];


static void endpoint_set(ucp_ep_h ep, uct_predreg_message_t message,
                         uct_predreg_endpoint_range_t range)
{
    uint64_t key  = uct_predreg_endpoint_key(ep, message);
    uint64_t both = range.min | ((uint64_t)range.max << 8);

    ucs_debug("ep %p: messages of kind %d go without a copy from %u to %u bytes",
              ep, message, range.min * UCS_REUSE_STEP + 1,
              (range.max + 1) * UCS_REUSE_STEP);
    atomic_store_explicit(
            &uct_predreg_endpoints[ucs_rcache_pred_hash_bits(
                    key, UCT_PREDREG_ENDPOINTS_BITS)],
            key | (both << UCT_PREDREG_ENDPOINT_KEY_BITS),
            memory_order_relaxed);
}

void uct_predreg_endpoint_copies(ucp_ep_h ep, uct_predreg_message_t message,
                                 size_t length)
{
    uct_predreg_endpoint_range_t range = uct_predreg_endpoint_get(ep, message);

    range.min = ucs_max(range.min, ucs_reuse_class(length) + 1);
    endpoint_set(ep, message, range);
}

void uct_predreg_endpoint_has_rndv(ucp_ep_h ep, uct_predreg_message_t message,
                                   size_t length)
{
    uct_predreg_endpoint_range_t range = uct_predreg_endpoint_get(ep, message);
    unsigned class                     = ucs_reuse_class(length);

    if (class == 0) {
        range.min = UCS_REUSE_NUM_CLASSES;
    } else {
        range.max = ucs_min(range.max, class - 1);
    }
    endpoint_set(ep, message, range);
}

void uct_predreg_endpoints_forget(void)
{
    unsigned i;

    for (i = 0; i < UCS_BIT(UCT_PREDREG_ENDPOINTS_BITS); ++i) {
        atomic_store_explicit(&uct_predreg_endpoints[i], 0,
                              memory_order_relaxed);
    }
}
