/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "bound.h"
#include "lock.h"
#include "lanes.h"
#include "use.h"

#include <ucs/base/align.h>
#include <ucs/rcache_pred/api/rcache_pred.h>
#include <ucs/rcache_pred/table/dq.h>
#include <ucs/rcache_pred/table/known.h>

#include <ucs/sys/math.h>

#include <stdlib.h>

/*
 * Marks regions stale because their memory is unmapped or because their owner
 * invalidates them. No use finds a stale region, and the helper clears it away.
 * Also guards regions whose memory has lost a right, without which it could not be
 * registered again. Any thread may call these functions, also in memory hooks.
 */

/* A program may stop its threads by signals and then protect memory, as garbage
 * collectors do. If a stopped thread has the lock of the cache, ucs_rcache_pred_protect()
 * waits for so long, ns, and then returns without having done anything */
#define PROTECT_PATIENCE 1000000ul


ucs_status_t pred_invalidate(ucs_rcache_pred_domain_t *domain, void *memh,
                             void (*cb)(void *arg), void *arg,
                             ucs_rcache_pred_time_t *begin_p)
{
    ucs_rcache_pred_t *pred          = domain->pred;
    ucs_rcache_pred_waiter_t *waiter = malloc(sizeof(*waiter));
    ucs_rcache_pred_extent_t *extent;

    if (waiter == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    pred_lock(pred);
    extent = ucs_rcache_pred_table_find_memh(&pred->table, &pred->table.memo,
                                             domain, memh);
    if ((extent == NULL) || !ucs_rcache_pred_extent_is_used(extent)) {
        pred_unlock(pred);
        free(waiter);
        return UCS_ERR_NO_ELEM;
    }

    waiter->cb      = cb;
    waiter->arg     = arg;
    waiter->next    = extent->waiters;
    extent->waiters = waiter;
    extent->stale   = 1;
    pred_unguard(pred, extent);
    pred_unlock(pred);

    pred_note_stale(pred);
    return pred_use_end(domain, memh, begin_p);
}

int ucs_rcache_pred_is_interrupted(ucs_rcache_pred_t *pred)
{
    return pred_lock_is_own(pred) || pred_lane_is_own(pred);
}

void ucs_rcache_pred_unmapped(ucs_rcache_pred_t *pred, uintptr_t start,
                              uintptr_t end)
{
    size_t page                      = pred->params.page_size;
    uintptr_t last                   = (end < start) ? UINTPTR_MAX :
                                       ((end - 1) | (page - 1));
    ucs_rcache_pred_range_t unmapped = {
        .start = ucs_round_down(start, page),
        .end   = ucs_min(last, UINTPTR_MAX - 1) + 1
    };
    int is_any                       = 1;

    if (start == end) {
        return;
    }

    if (ucs_unlikely(ucs_rcache_pred_is_interrupted(pred))) {
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

/* End the guard of a region, and have the helper decide about the region if no use is
 * under way. Under lock. */
static void let_go(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region)
{
    pred_unguard(pred, &region->extent);
    if (region->refs == 0) {
        ucs_rcache_pred_dq_lose(&pred->dq, region);
    }
}

int ucs_rcache_pred_unguard(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_region_t *region;
    int found;

    pred_lock(pred);
    found = pred->num_guarded > 0;
    for (region = ucs_rcache_pred_table_from(&pred->table, 0);
         pred->num_guarded > 0; region = ucs_rcache_pred_region_next(region)) {
        if (region->extent.guarded) {
            let_go(pred, region);
        }
    }
    pred_unlock(pred);
    return found;
}

/* @return how many pages of an extent a range has. Under lock. */
static uint64_t common_pages(const ucs_rcache_pred_t *pred,
                             const ucs_rcache_pred_extent_t *extent,
                             const ucs_rcache_pred_range_t *range)
{
    ucs_rcache_pred_range_t common = {
        .start = ucs_max(range->start, extent->range.start),
        .end   = ucs_min(range->end, extent->range.end)
    };

    return pred_pages(pred, &common);
}

/* A number of pages of an extent lose a right. Under lock. */
static void extent_lose(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_extent_t *extent, uint64_t pages)
{
    if (extent->state != UCS_RCACHE_PRED_EXTENT_REGISTERED) {
        extent->overtaken = 1;
    } else if (extent->guarded) {
        /* Some of these pages may have lost a right before, and would count twice */
        extent->unwritable = ucs_min(extent->unwritable + pages,
                                     pred_pages(pred, &extent->range));
    } else {
        pred_guard(pred, extent, pages);
    }
}

/* A number of pages of an extent get all rights again. A write barrier, for example,
 * gives the rights back page by page, once for each page, when the program writes the
 * page. Under lock. */
static void extent_regain(ucs_rcache_pred_t *pred,
                          ucs_rcache_pred_extent_t *extent, uint64_t pages)
{
    if (extent->overtaken && (pages == pred_pages(pred, &extent->range))) {
        extent->overtaken = 0;
    }

    if (extent->guarded && !extent->frail) {
        extent->unwritable -= ucs_min(extent->unwritable, pages);
        if (extent->unwritable == 0) {
            let_go(pred, ucs_rcache_pred_region_of(extent));
        }
    }
}

/* A part of an extent loses a right, or gets all rights again. Under lock. */
static void extent_protect(ucs_rcache_pred_t *pred,
                           ucs_rcache_pred_extent_t *extent,
                           const ucs_rcache_pred_range_t *range, int is_lost)
{
    uint64_t pages = common_pages(pred, extent, range);

    if (extent->stale) {
        return;
    }

    if (is_lost) {
        extent_lose(pred, extent, pages);
    } else {
        extent_regain(pred, extent, pages);
    }
}

void ucs_rcache_pred_protect(ucs_rcache_pred_t *pred, uintptr_t start,
                             size_t length, int is_lost)
{
    ucs_rcache_pred_extent_t *extent = NULL;
    ucs_rcache_pred_range_t range    = {
        .start = start,
        .end   = ucs_round_up(start + length,
                                          pred->params.page_size)
    };

    /* If this is a handler that has interrupted this thread in the cache, it cannot wait
     * for the thread. The kernel refuses a range that wraps around */
    if ((range.end <= start) || pred_is_on_demand(pred) ||
        ucs_rcache_pred_is_interrupted(pred) ||
        !ucs_rcache_pred_is_free(pred, PROTECT_PATIENCE)) {
        return;
    }

    pred_lock(pred);
    while ((extent = ucs_rcache_pred_table_overlap(
                    &pred->table, extent, &range,
                    UCS_RCACHE_PRED_RANGE_REGISTERED)) != NULL) {
        extent_protect(pred, extent, &range, is_lost);
    }
    pred_unlock(pred);

    if (!is_lost) {
        pred_wake(pred);
    }
}
