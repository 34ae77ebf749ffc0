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
 * (decide.c), what is cleared away (cleanup.c), whether memory is short (shortage.c), who
 * does the work by the seat among the node's processes (seat.c), one round of all this
 * (helper.c), and where the thread and the program start rounds (poll.c). It may use
 * api/, predict/ and cache/; the files on top call it.
 */

/** Initialize the state of the rounds. */
void pred_rounds_init(ucs_rcache_pred_t *pred);

/** Do one round, with at most @a steps turns, each of which takes one element of each
 *  queue.
 *  @return the time of the next round; UCS_RCACHE_PRED_TIME_INF: none before somebody
 *  wakes the helper. */
ucs_rcache_pred_time_t pred_helper_round(ucs_rcache_pred_t *pred,
                                         unsigned steps);


/* seat.c
 *
 * Who does the work: the thread, or the program, by the seat of this process among those
 * of its node.
 */

/** Set the mode with which the cache starts, and initialize the seat, before it is asked
 *  for the first time. */
void pred_seat_init(ucs_rcache_pred_t *pred);

/** Ask for the seat of this process if it is time to, and change the mode if
 *  the seat says so. Called at the beginning of a round. */
void pred_take_seat(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now);

/* shortage.c
 *
 * What the helper does differently while processes wait for memory.
 */

/** Look whether memory is short, if it is time to, and change the rate of the budget by
 *  that. Called at the beginning of a round before @ref pred_take_seat, and by the thread
 *  while the program does the work. */
void pred_shortage_look(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now);

/** @return when to look next; UCS_RCACHE_PRED_TIME_INF as long as no memory is registered
 *          that could be given up. */
ucs_rcache_pred_time_t
pred_shortage_due(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now);


/* pace.c
 *
 * When the next round of the helper is.
 */

/** The longest time between two looks of the helper thread at the DQ, ns, while uses end
 *  whose regions it gives up. */
#define PRED_POLL_MAX 1000000

/** Set the pace with which the helper starts, before any period is known. */
void pred_pace_init(ucs_rcache_pred_t *pred);

/** Adapt the pace at the beginning of a round. */
void pred_pace_round(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now);

/** Expect that, until a given time, uses of a region will end that is deregistered
 *  between its uses. Until then the helper looks at the DQ as often as the period of the
 *  region asks for.
 *  @param [in] period  Period of the region; 0 if it is not known. */
void pred_expect_end(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t until,
                     ucs_rcache_pred_time_t period);

/** Plan the next round after a round that has left work to do. @return the time of the
 *  next round: now, or as soon as there is budget. */
ucs_rcache_pred_time_t pred_go_on(ucs_rcache_pred_t *pred);

/** Plan the next round after a round that has done all work. @return the time of the next
 *  round, or UCS_RCACHE_PRED_TIME_INF if none is due before somebody wakes the helper. */
ucs_rcache_pred_time_t pred_sleep(ucs_rcache_pred_t *pred);


/* cleanup.c
 *
 * What the helper clears away: stale regions, and regions that nobody has used for long.
 * Also what it does about lost regions, of whose last use the DQ has no entry.
 */

/** Deregister and forget at most @a steps stale regions. @return whether more stale
 *  regions are left, so that the next round comes soon. */
int pred_reap_stale(ucs_rcache_pred_t *pred, unsigned steps);

/** Take a region off the list of lost regions, and process its last use, of which the DQ
 *  has lost the entry. @return whether there was such a region. */
int pred_process_lost(ucs_rcache_pred_t *pred);

/** @return the region at which a round goes on: that of the hand or, if it is gone or
 *          starts elsewhere now, the next one in the table, or the first; NULL if the table
 *          is empty. Under lock. */
ucs_rcache_pred_region_t *
pred_hand_region(ucs_rcache_pred_t *pred, const pred_hand_t *hand);

/** Let a later round go on at a region; NULL: at the first one. Under lock. */
void pred_hand_set(pred_hand_t *hand, ucs_rcache_pred_region_t *region);

/** If there are too many regions, forget some that are not registered and were not used
 *  for long. @return whether another round may find more regions to forget. */
int pred_collect_garbage(ucs_rcache_pred_t *pred);


/* times.c
 *
 * How long the helper's work takes: the measured steps, and registrations by their fitted
 * costs.
 */

/** Get the times that the helper's work takes for one registration of a range, as they were
 *  fitted and measured: of memory of a region, or of memory beside it that is alike. Under
 *  the lock, since any thread that registers changes the fit and the region's own cost. */
void pred_range_times(ucs_rcache_pred_t *pred, const ucs_rcache_pred_region_t *region,
                      const ucs_rcache_pred_range_t *range,
                      ucs_rcache_pred_times_t *times);

/** As @ref pred_range_times, for the range that is expected to be used of a region. Under
 *  the lock. */
void pred_region_times(ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_region_t *region,
                       ucs_rcache_pred_times_t *times);

/** Begin the next step of a round: read the clock, into rounds.now. A step that finds
 *  nothing to do does not read it again. */
void pred_step_begin(ucs_rcache_pred_t *pred);

/** End a step of a round, adapt the estimate of its cost to the time that the step took,
 *  without the time of registrations and deregistrations, and begin the next step.
 *  @param [in,out] cost  The estimate, ns. */
void pred_step_end(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t *cost);

/** Measure, at the beginning of a round, how late the sleep before the round has ended,
 *  unless somebody has ended it before its time. A helper thread that is late again and again
 *  shares its processor with others. Called before @ref pred_take_seat. */
void pred_measure_wakeup(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now);

#endif
