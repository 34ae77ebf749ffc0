/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "firehose.h"


ucs_status_t uct_predreg_firehose_add(uct_predreg_firehose_t *firehose,
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

uint64_t uct_predreg_firehose_take(uct_predreg_firehose_t *firehose,
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

void uct_predreg_firehose_count(uct_predreg_firehose_t *firehose,
                                uint64_t requests, uint64_t hits)
{
    atomic_fetch_add_explicit(&firehose->requests, requests,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&firehose->hits, hits, memory_order_relaxed);
}

void uct_predreg_firehose_reset(uct_predreg_firehose_t *firehose)
{
    /* The table is not freed: another thread of the parent may have been in the
     * allocator when it forked */
    kh_init_inplace(uct_predreg_firehose, &firehose->bytes);
    ucs_mutex_init(&firehose->lock, UCS_RANK_FH_BOUND, 0);
    atomic_init(&firehose->requests, 0);
    atomic_init(&firehose->hits, 0);
}
