/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "event.h"
#include "use.h"

#include <ucs/base/align.h>
#include <ucs/rcache_pred/table/known.h>

#include <ucs/sys/math.h>

#include <stdlib.h>

/*
 * Marks regions stale because their memory is unmapped or because their owner
 * invalidates them. No use finds a stale region, and the helper clears it away.
 * Any thread may call these functions, and unmaps come from memory hooks as
 * well.
 */


ucs_status_t pred_invalidate(ucs_rcache_pred_domain_t *domain, void *memh,
                             void (*cb)(void *arg), void *arg)
{
    ucs_rcache_pred_t *pred          = domain->pred;
    ucs_rcache_pred_waiter_t *waiter = malloc(sizeof(*waiter));
    ucs_rcache_pred_region_t *region;

    if (waiter == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    pred_lock(pred);
    region = ucs_rcache_pred_table_find_memh(&pred->table, domain, memh);
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
    return pred_use_end(domain, memh);
}

/*
 * Unmap a range that has bytes in common with what is known of a region. What
 * counts is all that may be registered later, not only what is registered now:
 * the helper registers all that was used recently. If what is unmapped is
 * beyond the present registration, or beyond the last one, the region is still
 * good for uses of the rest. Under lock.
 *
 * @return whether any byte that might be registered was unmapped.
 */
static int region_unmap(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region,
                        const ucs_rcache_pred_range_t *unmapped)
{
    if (region->stale) {
        return 0;
    }

    if (!ucs_rcache_pred_range_overlaps(&region->registered, unmapped)) {
        ucs_rcache_pred_region_cut(&pred->table, region, unmapped);
        return 1;
    }

    region->stale = 1;
    ucs_rcache_pred_region_clear(&pred->table, region);
    ++pred->stats.unmapped;
    return 1;
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
    int found                        = 0;
    ucs_rcache_pred_region_t *region, *next;
    uint64_t before;

    if (start == end) {
        return;
    }

    pred_lock(pred);
    before = pred->stats.unmapped;
    for (region = ucs_rcache_pred_table_overlap(&pred->table, NULL, &unmapped,
                                                UCS_RCACHE_PRED_RANGE_KNOWN);
         region != NULL; region = next) {
        /* Before the region gets another place in the tree */
        next   = ucs_rcache_pred_table_overlap(&pred->table, region, &unmapped,
                                               UCS_RCACHE_PRED_RANGE_KNOWN);
        found |= region_unmap(pred, region, &unmapped);
    }
    before = pred->stats.unmapped - before;
    /* On demand, regions are forgotten with their uses. Only the recording
     * shows that memory which was used is no longer the same. */
    found |= pred_is_on_demand(pred) && (pred->stats.uses > 0);
    if (found && pred_has_sink(pred)) {
        pred_emit_unmap(pred, unmapped.start, unmapped.end);
    }
    pred_unlock(pred);

    if (before > 0) {
        pred_note_stale(pred);
        pred_wake(pred);
    }
}
