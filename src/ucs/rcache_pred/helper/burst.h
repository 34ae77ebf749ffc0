/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_HELPER_BURST_H_
#define UCS_RCACHE_PRED_HELPER_BURST_H_

#include <ucs/rcache_pred/cache/cache.h>

/** @file helper/burst.h
 *
 * Bursts of uses of slices that were joined, see helper/join.h.
 *
 * Unless their comment says otherwise, these functions are called under
 * helper_mutex and without the lock. They take the lock where they touch what
 * the helper shares with uses.
 */


/**
 * A use of a region has begun, of which the helper learns now: note how much it leaves
 * out of what is expected to be used. Takes no lock.
 *
 * @param [in] used      Length of the use, bytes.
 * @param [in] expected  What is expected, bytes.
 */
void pred_burst_note_use(ucs_rcache_pred_region_t *region, size_t used,
                         size_t expected);

/**
 * Find out whether the last uses of regions, one of each in a burst, took most of the
 * memory of all. If not, they would have to be parted again once they were joined. Takes
 * no lock.
 *
 * @param [in] expected  What is expected to be used of each of them.
 */
int pred_bursts_are_whole(ucs_rcache_pred_region_t *const *regions,
                          const ucs_rcache_pred_range_t *expected,
                          unsigned count);

/**
 * A use of a region has begun, of which the helper learns now. The history of a
 * region that stands for slices is that of its bursts. If the use is the first of
 * a burst, that is under way from now on.
 *
 * @param [in,out] range  What was used. If it is the first use of a burst: all
 *                        slices, so that it does not matter which is the first.
 * @return whether the use belongs to the same burst as one before it.
 */
int pred_burst_has(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                   ucs_rcache_pred_time_t begin,
                   ucs_rcache_pred_range_t *range);

/**
 * Find out whether the burst of uses of a region goes on, which is not in use.
 * It has ended if all slices were used, or if it takes twice as long as the
 * longest one before. Then it is also judged: where hardly any slices were used
 * they are no burst any more, if that happens several times.
 *
 * @return when to look again; 0: no burst is under way.
 */
ucs_rcache_pred_time_t pred_burst_end(ucs_rcache_pred_t *pred,
                                      ucs_rcache_pred_region_t *region,
                                      ucs_rcache_pred_time_t now);

/** @return whether to part the slices that a region stands for, which is not
 *          registered any more. */
int pred_should_part(const ucs_rcache_pred_region_t *region);

/** Let a region that is on no queue stand for itself alone from now on, if it
 *  stands for other slices. What was learned of the uses of all is forgotten. */
void pred_part_slices(ucs_rcache_pred_t *pred,
                      ucs_rcache_pred_region_t *region);

#endif
