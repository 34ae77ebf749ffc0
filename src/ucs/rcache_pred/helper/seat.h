/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_HELPER_SEAT_H_
#define UCS_RCACHE_PRED_HELPER_SEAT_H_

#include <ucs/rcache_pred/cache/cache.h>

/** @file helper/seat.h
 *
 * This process among those of its node: its demand, and its seat.
 *
 * Unless their comment says otherwise, these functions are called under
 * helper_mutex and without the lock. They take the lock where they touch what
 * the helper shares with uses.
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

/** Count a use of the region, which has ended, in the demand of this
 *  process. */
void pred_note_demand(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                      uint64_t length);

#endif
