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
 * One round of the helper, which registers and deregisters regions between
 * their uses, off the critical path (CF'11, section 3.2). The folder, from the
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


/** Initialize the state of the rounds. */
void pred_rounds_init(ucs_rcache_pred_t *pred);

/** Do one round, with at most @a steps turns.
 *  @return the time of the next round, or UCS_RCACHE_PRED_TIME_INF. */
ucs_rcache_pred_time_t pred_helper_round(ucs_rcache_pred_t *pred,
                                         unsigned steps);

#endif
