/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_HELPER_INT_H_
#define UCS_RCACHE_PRED_HELPER_INT_H_

#include <ucs/rcache_pred/cache/rcache_pred_int.h>

/** @file helper_int.h
 *
 * The helper's work, as its parts share it: helper.c (a round, and when the
 * next one is), decide.c (what is done about a region) and cleanup.c.
 * Everything here runs under helper_mutex; what it shares with uses is touched
 * under the lock, which none of the functions is called with unless it says
 * so.
 */


static inline ucs_rcache_pred_region_t *
pred_queue_region(ucs_rcache_pred_timeq_elem_t *elem)
{
    return ucs_container_of(elem, ucs_rcache_pred_region_t, queue_elem);
}

/** Whether a use has begun that is not in the histories yet. Under lock. */
static inline int pred_region_has_news(const ucs_rcache_pred_region_t *region)
{
    return region->begin > region->forecast.history.last;
}


/* helper.c */

/** Uses of a region that is given up in between will end, up to this time: the
 *  DQ is to be looked at as often as the region's period asks for.
 *  @param [in] period  0: not known. */
void pred_expect_end(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t until,
                     ucs_rcache_pred_time_t period);


/* decide.c */

/** What things cost for this region: as fitted and measured. */
void pred_region_times(ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_region_t *region,
                       ucs_rcache_pred_times_t *times);

/** Whether the region is still what an entry of the DQ is about. */
int pred_region_is_current(ucs_rcache_pred_t *pred,
                           ucs_rcache_pred_region_t *region,
                           uint64_t generation);

/** Deregister the region, unless a use has begun. */
void pred_region_deregister(ucs_rcache_pred_t *pred,
                            ucs_rcache_pred_region_t *region);

/**
 * Decide about a region without a use: deregister it, and register it again
 * before its deadline; or keep it and look again when its use has not come. One
 * that is not registered, after a use in pieces, is registered for the next one.
 */
void pred_region_decide(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region);

/** A current entry of the DQ: learn when the use began, then decide about its
 *  region, unless another entry will follow. */
void pred_process_dq_entry(ucs_rcache_pred_t *pred,
                           const ucs_rcache_pred_dq_entry_t *entry);

/** The head of the RQ is due: register it ahead of its use, and watch for the
 *  use. */
void pred_process_rq_head(ucs_rcache_pred_t *pred);

/** The use that the head of the watch list awaits has not come in time, or is
 *  under way. */
void pred_process_awaited_head(ucs_rcache_pred_t *pred);


/* cleanup.c */

/** Clear away regions that serve no use any more, at most so many.
 *  @return whether there are more. */
int pred_reap_stale(ucs_rcache_pred_t *pred, unsigned steps);

/** The DQ lost entries: find registered regions that nothing is known about,
 *  and decide about at most so many. @return whether there are more. */
int pred_sweep_dropped(ucs_rcache_pred_t *pred, unsigned steps);

/** Forget some unregistered regions that were not used for long, if there are
 *  too many. @return whether another round may find more. */
int pred_collect_garbage(ucs_rcache_pred_t *pred);

#endif
