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
 * The functions of the folder helper/, which registers and deregisters regions
 * between their uses, off the critical path (CF'11, section 3.2). From the
 * bottom up: what the helper's work costs (times.c), the queues of regions
 * (queue.c), when the next round is (pace.c), the decisions about regions
 * (decide.c), what is cleared away (cleanup.c), the seat among the node's
 * processes (seat.c), one round of all this (helper.c), who does the work
 * (mode.c), and where the thread and the program start rounds (poll.c). It may
 * use api/, predict/ and cache/; the files on top call it.
 *
 * Unless their comment says otherwise, these functions are called under
 * helper_mutex and without the lock. They take the lock where they touch what
 * the helper shares with uses.
 */


/** @return whether a use of the region has begun that is not in the histories
 *          yet. Under lock. */
static inline int pred_region_has_news(const ucs_rcache_pred_region_t *region)
{
    return region->begin > region->forecast.history.last;
}


/* times.c */

/** Get the times that the helper's work takes for this region, as they were
 *  fitted and measured. */
void pred_region_times(ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_region_t *region,
                       ucs_rcache_pred_times_t *times);

/** Begin a step of a round. @return the time. */
ucs_rcache_pred_time_t pred_step_begin(ucs_rcache_pred_t *pred);

/** End a step of a round. Its @a cost follows the time that it took, without
 *  the time in mem_reg and mem_dereg. */
void pred_step_end(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t *cost,
                   ucs_rcache_pred_time_t begin);

/** Measure, at the beginning of a round, how late the sleep before it has
 *  ended. */
void pred_measure_wakeup(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now);


/* queue.c */

/** @return the region that an element of a queue belongs to. */
static inline ucs_rcache_pred_region_t *
pred_queue_region(ucs_rcache_pred_timeq_elem_t *elem)
{
    return ucs_container_of(elem, ucs_rcache_pred_region_t, queue_elem);
}

/** Take the region off its queue, if it is on one. */
void pred_dequeue(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region);

/** Put the region on the registration queue: it will be registered again before
 *  its deadline. */
void pred_enqueue_registration(ucs_rcache_pred_t *pred,
                               ucs_rcache_pred_region_t *region,
                               ucs_rcache_pred_time_t deadline,
                               const ucs_rcache_pred_times_t *times);

/** Put the region on the awaited list: its use is awaited until @a expiry, or
 *  somewhat longer. */
void pred_enqueue_awaited(ucs_rcache_pred_t *pred,
                          ucs_rcache_pred_region_t *region,
                          ucs_rcache_pred_time_t now,
                          ucs_rcache_pred_time_t expiry);

/** @return when the head of the registration queue is due, or
 *          UCS_RCACHE_PRED_TIME_INF if the queue is empty. */
ucs_rcache_pred_time_t pred_rq_due_time(ucs_rcache_pred_t *pred);

/** Forget a region: take it off its queue and out of the table. It must be
 *  idle, and no use may find it, because it is stale or its domain is being
 *  destroyed. */
void pred_forget_region(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region);


/* pace.c */

/** Set the pace with which the helper starts, before any period is known. */
void pred_pace_init(ucs_rcache_pred_t *pred);

/** Adapt the pace at the beginning of a round. */
void pred_pace_round(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now);

/** Expect that, until the given time, uses will end whose regions are
 *  deregistered between uses. Meanwhile the DQ is looked at as often as the
 *  region's period asks for.
 *  @param [in] period  Period of the region; 0 if it is not known. */
void pred_expect_end(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t until,
                     ucs_rcache_pred_time_t period);

/** Make the next round due now, since there is more to do. @return the time. */
ucs_rcache_pred_time_t pred_go_on(ucs_rcache_pred_t *pred);

/** Find out when the next round is due, after all work was done. @return the
 *  time, or UCS_RCACHE_PRED_TIME_INF if none is due before somebody wakes the
 *  helper. */
ucs_rcache_pred_time_t pred_sleep(ucs_rcache_pred_t *pred);


/* decide.c */

/** @return whether an entry of the DQ with this generation is still about this
 *          region, and the region is not stale. */
int pred_region_is_current(ucs_rcache_pred_t *pred,
                           ucs_rcache_pred_region_t *region,
                           uint64_t generation);

/** Deregister the region, unless a use of it is under way. */
void pred_region_deregister(ucs_rcache_pred_t *pred,
                            ucs_rcache_pred_region_t *region);

/**
 * Decide about a region that is not in use. Either it is deregistered, and
 * registered again before its deadline; or it is kept, and looked at again if
 * its use does not come in time. A region that is not registered, since its
 * last use was in pieces, will be registered for its next use.
 */
void pred_region_decide(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region);

/** Process an entry of the DQ whose region is current: learn when the use
 *  began, and then decide about the region, unless another entry of it will
 *  follow. */
void pred_process_dq_entry(ucs_rcache_pred_t *pred,
                           const ucs_rcache_pred_dq_entry_t *entry);

/** Process the head of the registration queue, which is due: register it ahead
 *  of its use, and await the use. */
void pred_process_rq_head(ucs_rcache_pred_t *pred);

/** Process the head of the awaited list, whose time is over. Either its use has
 *  not come in time, or it has come and its entry is still in the DQ. */
void pred_process_awaited_head(ucs_rcache_pred_t *pred);


/* cleanup.c */

/** Deregister and forget stale regions, at most @a steps of them.
 *  @return whether there are more. */
int pred_reap_stale(ucs_rcache_pred_t *pred, unsigned steps);

/** If the DQ has lost entries, find the registered regions that no entry and no
 *  queue has, and decide about at most @a steps of them. @return whether there
 *  are more of them. */
int pred_sweep_dropped(ucs_rcache_pred_t *pred, unsigned steps);

/** If there are too many unregistered regions, forget some that were not used
 *  for long. @return whether another round may find more of them. */
int pred_collect_garbage(ucs_rcache_pred_t *pred);


/* seat.c */

/** Initialize the seat, before it is asked for the first time. */
void pred_seat_init(ucs_rcache_pred_t *pred);

/** Ask for the seat of this process if it is time to, and change the mode if
 *  the seat says so. Called at the beginning of a round. */
void pred_take_seat(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now);

/** Count a use of the region, which has ended, in the demand of this
 *  process. */
void pred_note_demand(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                      uint64_t length);


/* helper.c */

/** Initialize the state of the rounds. */
void pred_rounds_init(ucs_rcache_pred_t *pred);

/** Do one round, with at most @a steps turns.
 *  @return the time of the next round, or UCS_RCACHE_PRED_TIME_INF. */
ucs_rcache_pred_time_t pred_helper_round(ucs_rcache_pred_t *pred,
                                         unsigned steps);


/* mode.c */

/** Set the mode with which the cache starts. */
void pred_mode_init(ucs_rcache_pred_t *pred);

#endif
