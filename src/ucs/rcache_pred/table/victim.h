/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_VICTIM_H_
#define UCS_RCACHE_PRED_VICTIM_H_

#include "region.h"

/** @file victim.h
 *
 * Which extent gives way when there is no room: of those that are registered
 * and not in use, the one whose region is expected to be used last. All functions are
 * called under the cache's lock.
 *
 * Each extent has a rank, and the tree of extents knows the highest rank. To change a
 * rank takes O(log n) steps, which no use has time for. Hence uses leave the ranks as
 * they are, and a thread that looks for a victim brings them up to date:
 *
 * - A rank that is too high, as that of an extent that came into use, is found when its
 *   extent seems to be the victim.
 * - A rank that is too low would not be found. Therefore a thread that lets a rank rise,
 *   for example at the end of a use, notes the region in a list.
 *
 * The rank of a region needs no update unless the region was used since the last one. So
 * the updates take O(log n) steps for each use, on average.
 */

/** Note that the rank of a region's extent may be too low from now on.
 *  @param [in] noted  The list of the table, or that of the lane of this thread. */
static inline void
ucs_rcache_pred_region_note(ucs_rcache_pred_noted_t *noted,
                            ucs_rcache_pred_region_t *region)
{
    if (ucs_likely(region->noted)) {
        return;
    }

    region->noted      = 1;
    region->next_noted = NULL;
    if (noted->first == NULL) {
        noted->first = region;
    } else {
        noted->last->next_noted = region;
    }
    noted->last = region;
}

/** Move all regions of the list @a from to the end of the list @a to. */
static inline void ucs_rcache_pred_noted_move(ucs_rcache_pred_noted_t *to,
                                              ucs_rcache_pred_noted_t *from)
{
    if (from->first == NULL) {
        return;
    }

    if (to->first == NULL) {
        to->first = from->first;
    } else {
        to->last->next_noted = from->first;
    }
    to->last    = from->last;
    from->first = NULL;
}

/** @return the rank that an extent should have now; 0: it cannot give way. */
uint64_t
ucs_rcache_pred_extent_get_rank(const ucs_rcache_pred_extent_t *extent);

/** Bring the rank of an extent up to date. @return whether it has changed. */
int ucs_rcache_pred_extent_rank(ucs_rcache_pred_table_t *table,
                                ucs_rcache_pred_extent_t *extent);

/** Bring the ranks of at most @a steps noted regions up to date. @return whether more
 *  regions are noted. */
int ucs_rcache_pred_table_rank_noted(ucs_rcache_pred_table_t *table,
                                     unsigned steps);

/**
 * Find the extent that gives way first. A call takes a bounded number of steps, so that
 * the lock is not held for long.
 *
 * @param [in]  domain    The domain of which the extent has to be; NULL: any.
 * @param [out] victim_p  The extent; NULL: no extent can give way, or none of the domain
 *                        is among the first ones of all domains.
 * @return 1 if the search is complete; 0 if it takes more steps: the caller releases the
 *         lock for a moment, and calls again.
 */
int ucs_rcache_pred_table_victim(ucs_rcache_pred_table_t *table,
                                 const struct ucs_rcache_pred_domain *domain,
                                 ucs_rcache_pred_extent_t **victim_p);

#endif
