/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_HELPER_H_
#define UCS_RCACHE_PRED_HELPER_H_

#include <ucs/rcache_pred/cache/cache.h>

/** @file helper.h
 *
 * The folder helper/: what is done about regions between their uses, off the
 * critical path (CF'11, section 3.2). From the bottom up: what the helper's work
 * costs (times.c), the queues of regions (queue.c), when the next round is
 * (pace.c), what is done about a region (decide.c) and cleared away (cleanup.c),
 * the seat among the node's processes (seat.c), a round of all that (helper.c),
 * who does it (mode.c), and where the thread and the program come in (poll.c).
 * It may use api/, predict/ and cache/; the files on top call it.
 *
 * Everything here runs under helper_mutex unless it says otherwise; what the
 * helper shares with uses is touched under lock, which none of the functions is
 * called with unless it says so.
 */


/** Whether a use has begun that is not in the histories yet. Under lock. */
static inline int pred_region_has_news(const ucs_rcache_pred_region_t *region)
{
    return region->begin > region->forecast.history.last;
}


/* times.c */

/** What things cost for this region: as fitted and measured. */
void pred_region_times(ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_region_t *region,
                       ucs_rcache_pred_times_t *times);

/** A step of a round begins. @return when. */
ucs_rcache_pred_time_t pred_step_begin(ucs_rcache_pred_t *pred);

/** A step has ended: its cost follows the time it took, less what was spent on
 *  registrations. */
void pred_step_end(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t *cost,
                   ucs_rcache_pred_time_t begin);

/** A round begins: how late has the sleep before it ended? */
void pred_measure_wakeup(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now);


/* queue.c */

static inline ucs_rcache_pred_region_t *
pred_queue_region(ucs_rcache_pred_timeq_elem_t *elem)
{
    return ucs_container_of(elem, ucs_rcache_pred_region_t, queue_elem);
}

/** The region leaves the queue it is on, if it is on one. */
void pred_dequeue(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region);

/** The region is registered again before its deadline. */
void pred_enqueue_registration(ucs_rcache_pred_t *pred,
                               ucs_rcache_pred_region_t *region,
                               ucs_rcache_pred_time_t deadline,
                               const ucs_rcache_pred_times_t *times);

/** The region's use is awaited until @a expiry, or some time longer. */
void pred_enqueue_awaited(ucs_rcache_pred_t *pred,
                          ucs_rcache_pred_region_t *region,
                          ucs_rcache_pred_time_t now,
                          ucs_rcache_pred_time_t expiry);

/** When the head of the RQ is due, or UCS_RCACHE_PRED_TIME_INF. */
ucs_rcache_pred_time_t pred_rq_due_time(ucs_rcache_pred_t *pred);

/** Forget a region that is idle and that no use can find (stale, or of a domain
 *  that goes): take it off its queue and out of the table. */
void pred_forget_region(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region);


/* pace.c */

/** The first guess, before any period is known. */
void pred_pace_init(ucs_rcache_pred_t *pred);

/** A round begins. */
void pred_pace_round(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now);

/** Uses of a region that is given up in between will end, up to this time: the
 *  DQ is to be looked at as often as the region's period asks for.
 *  @param [in] period  0: not known. */
void pred_expect_end(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t until,
                     ucs_rcache_pred_time_t period);

/** There is more to do: the next round is due now. @return when it is due. */
ucs_rcache_pred_time_t pred_go_on(ucs_rcache_pred_t *pred);

/** All is done: @return when the next round is due; INF: not before somebody
 *  wakes the helper. */
ucs_rcache_pred_time_t pred_sleep(ucs_rcache_pred_t *pred);


/* decide.c */

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

/** The head of the RQ is due: register it ahead of its use, and await the
 *  use. */
void pred_process_rq_head(ucs_rcache_pred_t *pred);

/** The use that the head of the awaited list waits for has not come in time, or
 *  it has, and its entry is on its way here through the DQ. */
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


/* seat.c */

void pred_seat_init(ucs_rcache_pred_t *pred);

/** At the beginning of a round: ask for the seat if it is time, and change the
 *  mode if need be. */
void pred_take_seat(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now);

/** A use of the region has ended. */
void pred_note_demand(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                      uint64_t length);


/* helper.c */

/** Before the first round. */
void pred_rounds_init(ucs_rcache_pred_t *pred);

/** One round, at most so many turns.
 *  @return the time of the next one, or UCS_RCACHE_PRED_TIME_INF. */
ucs_rcache_pred_time_t pred_helper_round(ucs_rcache_pred_t *pred,
                                         unsigned steps);


/* mode.c */

void pred_mode_init(ucs_rcache_pred_t *pred);

#endif
