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
 * Each extent has a rank, and the tree of extents knows the highest one. A rank
 * takes O(log n) steps to change, which no use has time for. Hence uses leave
 * the ranks as they are, and whoever looks for a victim brings them up to date:
 *
 * - A rank that is too high is found when its extent is at the top. So it is
 *   with extents that are in use.
 * - A rank that is too low would not be found. Whoever lets a region rise, such
 *   as the end of a use, therefore notes the region.
 *
 * Each region that is brought up to date was used since it was the last time,
 * so that this takes O(log n) steps a use on average.
 */

/** Note that the rank of a region's extent may be too low from now on. */
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

/** Add the regions of a list, which is empty then, to another one. */
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

/** Bring the ranks of regions that were noted up to date, at most @a steps of
 *  them. @return whether there are more. */
int ucs_rcache_pred_table_rank_noted(ucs_rcache_pred_table_t *table,
                                     unsigned steps);

/**
 * Find the extent that gives way first. The search ends after a number of
 * steps, so that the lock is not held for long.
 *
 * @param [in]  domain    Of which domain it is to be; NULL: of any.
 * @param [out] victim_p  The extent; NULL: there is none, or none of the domain
 *                        among the first ones of all domains.
 * @return whether it was found out; 0: there are more steps to do.
 */
int ucs_rcache_pred_table_victim(ucs_rcache_pred_table_t *table,
                                 const struct ucs_rcache_pred_domain *domain,
                                 ucs_rcache_pred_extent_t **victim_p);

#endif
