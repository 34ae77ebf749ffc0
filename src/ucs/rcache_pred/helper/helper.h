/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_HELPER_H_
#define UCS_RCACHE_PRED_HELPER_H_

#include <ucs/rcache_pred/cache/cache.h>

/** @file helper/helper.h
 *
 * The rounds of the helper, and when they are.
 *
 * Unless their comment says otherwise, these functions are called under
 * helper_mutex and without the lock. They take the lock where they touch what
 * the helper shares with uses.
 */


/* helper.c
 *
 * One round of the helper, which registers and deregisters regions between
 * their uses, off the critical path (CF'11, section 3.2). The folder, from the
 * bottom up: what the helper's work costs (times.c), the queues of regions
 * (queue.c), when the next round is (pace.c), the decisions about regions
 * (decide.c), what is cleared away (cleanup.c), the seat among the node's
 * processes (seat.c), one round of all this (helper.c), who does the work
 * (mode.c), and where the thread and the program start rounds (poll.c). It may
 * use api/, predict/ and cache/; the files on top call it.
 */

/** Initialize the state of the rounds. */
void pred_rounds_init(ucs_rcache_pred_t *pred);

/** Do one round, with at most @a steps turns.
 *  @return the time of the next round, or UCS_RCACHE_PRED_TIME_INF. */
ucs_rcache_pred_time_t pred_helper_round(ucs_rcache_pred_t *pred,
                                         unsigned steps);


/* mode.c
 *
 * Who does the helper's work: the thread, or the program.
 */

/** Set the mode with which the cache starts. */
void pred_mode_init(ucs_rcache_pred_t *pred);


/* seat.c
 *
 * This process among those of its node: its demand, and its seat.
 */

/** Initialize the seat, before it is asked for the first time. */
void pred_seat_init(ucs_rcache_pred_t *pred);

/** Note how late a sleep of the helper has ended, as @ref pred_measure_wakeup: a thread
 *  that is late again and again shares its processor. Called before @ref
 *  pred_take_seat. */
void pred_seat_note_late(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t late);

/** Ask for the seat of this process if it is time to, and change the mode if
 *  the seat says so. Called at the beginning of a round. */
void pred_take_seat(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now);

/* pace.c
 *
 * When the next round of the helper is.
 */

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


/* cleanup.c
 *
 * What the helper clears away: stale regions, those whose entries the DQ has
 * lost, and those that nobody has used for long.
 */

/** Deregister and forget stale regions, at most @a steps of them.
 *  @return whether there are more. */
int pred_reap_stale(ucs_rcache_pred_t *pred, unsigned steps);

/** Process the last use of a region of which the DQ has lost all entries, if
 *  there is such a region. @return whether there was. */
int pred_process_lost(ucs_rcache_pred_t *pred);

/** @return the region at which a round goes on: that of the hand or, if it is gone or
 *          starts elsewhere now, the next one in the table, or the first; NULL if the table
 *          is empty. Under lock. */
ucs_rcache_pred_region_t *
pred_hand_region(ucs_rcache_pred_t *pred, const pred_hand_t *hand);

/** Let a later round go on at a region; NULL: at the first one. Under lock. */
void pred_hand_set(pred_hand_t *hand, ucs_rcache_pred_region_t *region);

/** If there are too many unregistered regions, forget some that were not used
 *  for long. @return whether another round may find more of them. */
int pred_collect_garbage(ucs_rcache_pred_t *pred);


/* times.c
 *
 * What the helper's work takes: as it was measured, and as it is fitted for a
 * region.
 */

/** Get the times that the helper's work takes for one registration of a range,
 *  as they were fitted and measured. Under the lock, since any thread that
 *  registers changes the fit. */
void pred_range_times(ucs_rcache_pred_t *pred,
                      const ucs_rcache_pred_domain_t *domain,
                      const ucs_rcache_pred_range_t *range,
                      ucs_rcache_pred_times_t *times);

/** The same for all that is to be registered of a region. Under the lock. */
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
 *  ended. @return that, ns; UCS_RCACHE_PRED_TIME_INF if somebody has ended it. */
ucs_rcache_pred_time_t
pred_measure_wakeup(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now);

#endif
