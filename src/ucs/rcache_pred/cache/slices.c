/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "register.h"
#include "slices.h"

#include <ucs/rcache_pred/table/known.h>

/* A merge takes this many handles of regions under the lock, then releases the
 * lock and deregisters them. The handles are on the stack */
#define MAX_HANDLES 8


ucs_rcache_pred_region_t *
pred_find_slice(ucs_rcache_pred_domain_t *domain,
                const ucs_rcache_pred_range_t *range, unsigned access)
{
    const ucs_rcache_pred_table_t *table = &domain->pred->table;
    ucs_rcache_pred_region_t *similar    = NULL;
    ucs_rcache_pred_region_t *coming     = NULL;
    ucs_rcache_pred_region_t *region     = NULL;

    while ((region = ucs_rcache_pred_table_overlap(table, region, range)) !=
           NULL) {
        if ((region->domain != domain) || region->stale) {
            continue;
        }

        if ((region->state == UCS_RCACHE_PRED_REGION_REGISTERED) &&
            ucs_rcache_pred_region_covers(region, range, access)) {
            return region;
        }

        if (region->state == UCS_RCACHE_PRED_REGION_REGISTERING) {
            if (ucs_rcache_pred_range_overlaps(&region->registered, range)) {
                coming = region;
            }
        } else if ((region->refs == 0) &&
                   ucs_rcache_pred_range_is_similar(&region->registered,
                                                    range)) {
            similar = region;
        }
    }

    return (coming != NULL) ? coming : similar;
}

int pred_is_slice_taken(const ucs_rcache_pred_t *pred,
                        const ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_range_t range   = ucs_rcache_pred_region_expected(region);
    ucs_rcache_pred_region_t *other = NULL;

    while ((other = ucs_rcache_pred_table_overlap(&pred->table, other,
                                                  &range)) != NULL) {
        if ((other == region) || (other->domain != region->domain) ||
            other->stale || (other->state == UCS_RCACHE_PRED_REGION_IDLE) ||
            !ucs_rcache_pred_range_overlaps(&other->registered, &range)) {
            continue;
        }

        if ((other->refs > 0) ||
            (other->state == UCS_RCACHE_PRED_REGION_REGISTERING) ||
            ucs_rcache_pred_region_covers(other, &range,
                                          region->recent_access)) {
            return 1;
        }
    }

    return 0;
}

/*
 * Take the handles of some regions that are merged with a claimed one, in the
 * order of the table's tree. Under lock.
 *
 * @param [in,out] from_p  Regions whose known range starts before this are left
 *                         alone; then, where the next call may go on, or 0 if it
 *                         has to look at all regions again.
 * @return how many were taken.
 */
static unsigned take_handles(ucs_rcache_pred_t *pred,
                             ucs_rcache_pred_region_t *region,
                             uintptr_t *from_p, pred_handle_t *handles)
{
    ucs_rcache_pred_range_t range   = region->registered;
    ucs_rcache_pred_region_t *other = NULL;
    unsigned count                  = 0;

    for (other = (*from_p == 0) ?
                 ucs_rcache_pred_table_overlap(&pred->table, NULL, &range) :
                 ucs_rcache_pred_table_from(&pred->table, *from_p);
         (other != NULL) && (count < MAX_HANDLES);
         other = ucs_rcache_pred_table_overlap(&pred->table, other, &range)) {
        if ((other->domain == region->domain) && !other->stale &&
            (other->state == UCS_RCACHE_PRED_REGION_REGISTERED) &&
            (other->refs == 0) &&
            ucs_rcache_pred_range_overlaps(&other->registered, &range)) {
            range             = ucs_rcache_pred_range_hull(&range,
                                                           &other->registered);
            region->access   |= other->access;
            handles[count++]  = pred_take_handle(pred, other);
        }
    }

    /* If memory below has become part of the region, regions that were passed
     * over may share it */
    *from_p = ((other != NULL) && (range.start == region->registered.start)) ?
              other->known.start : 0;
    ucs_rcache_pred_region_set_range(&pred->table, region, &range);
    return count;
}

void pred_merge_slices(ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_region_t *region,
                       ucs_rcache_pred_by_t by)
{
    pred_handle_t handles[MAX_HANDLES];
    uintptr_t from = 0;
    unsigned count, i;
    int whole;

    /* Until a look at all regions finds none. Each look goes on where the last
     * one has ended: were it to begin anew after each few regions, it would take
     * their number squared to merge many. */
    for (;;) {
        whole = (from == 0);
        count = take_handles(pred, region, &from, handles);
        if ((count == 0) && whole) {
            return;
        }

        pred_unlock(pred);
        for (i = 0; i < count; ++i) {
            pred_deregister(&handles[i], by);
        }
        pred_lock(pred);
    }
}
