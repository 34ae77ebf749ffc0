/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "deferred.h"
#include "lanes.h"
#include "use.h"

#include <ucs/base/align.h>

#include <ucs/sys/math.h>

#include <stdlib.h>

/*
 * Marks regions stale because their memory is unmapped or because their owner
 * invalidates them. No use finds a stale region, and the helper clears it away.
 * Any thread may call these functions, and unmaps come from memory hooks as
 * well.
 */


ucs_status_t pred_invalidate(ucs_rcache_pred_domain_t *domain, void *memh,
                             void (*cb)(void *arg), void *arg,
                             ucs_rcache_pred_time_t *begin_p)
{
    ucs_rcache_pred_t *pred          = domain->pred;
    ucs_rcache_pred_waiter_t *waiter = malloc(sizeof(*waiter));
    ucs_rcache_pred_region_t *region;

    if (waiter == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    pred_lock(pred);
    region = ucs_rcache_pred_table_find_memh(&pred->table, &pred->table.memo,
                                             domain, memh);
    if ((region == NULL) || (region->refs == 0)) {
        pred_unlock(pred);
        free(waiter);
        return UCS_ERR_NO_ELEM;
    }

    waiter->cb      = cb;
    waiter->arg     = arg;
    waiter->next    = region->waiters;
    region->waiters = waiter;
    region->stale   = 1;
    pred_unlock(pred);

    pred_note_stale(pred);
    return pred_use_end(domain, memh, begin_p);
}

void ucs_rcache_pred_unmapped(ucs_rcache_pred_t *pred, uintptr_t start,
                              uintptr_t end)
{
    size_t page                      = pred->params.page_size;
    uintptr_t last                   = (end < start) ? UINTPTR_MAX :
                                       ((end - 1) | (page - 1));
    ucs_rcache_pred_range_t unmapped = {
        .start = ucs_rcache_pred_align_down(start, page),
        .end   = ucs_min(last, UINTPTR_MAX - 1) + 1
    };
    int is_any                       = 1;

    if (start == end) {
        return;
    }

    if (ucs_unlikely(pred_lock_is_own(pred) || pred_lane_is_own(pred))) {
        pred_defer(pred, &unmapped);
    } else {
        pred_lock(pred);
        is_any = pred_unmap(pred, &unmapped);
        pred_unlock(pred);
    }

    if (is_any) {
        pred_note_stale(pred);
        pred_wake(pred);
    }
}
