/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "seat.h"

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

/*
 * The seat of this process among those of its node (CF'11, section 5). The
 * process tells the others its demand, and its seat says whether the thread or
 * the program shall do the helper's work.
 *
 * Demand is counted in epochs; an epoch is the time from one seat to the next.
 * A region that is used in an epoch counts once, with the length of the first
 * use.
 */

/* How often rounds ask for the seat, ns */
#define SEAT_INTERVAL 250000000

/* From one epoch to the next, the demand falls by this part, 1/8, at most. A
 * single epoch with less demand says little, since many programs have periods
 * longer than an epoch. */
#define DEMAND_FADE   8


void pred_seat_init(ucs_rcache_pred_t *pred)
{
    /* The first seat decides at once: one vote is enough */
    pred->seat.votes = UCS_RCACHE_PRED_MODE_VOTES - 1;
    pred->seat.epoch = 1; /* New regions have 0, which no epoch is */
}

void pred_note_demand(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                      uint64_t length)
{
    if (region->epoch != pred->seat.epoch) {
        region->epoch            = pred->seat.epoch;
        pred->seat.epoch_demand += length;
    }
}

/* End the epoch. @return the demand of this process. */
static uint64_t take_demand(pred_seat_t *seat)
{
    seat->demand       = ucs_max(seat->epoch_demand,
                                 seat->demand - (seat->demand / DEMAND_FADE));
    seat->epoch_demand = 0;
    ++seat->epoch;
    return seat->demand;
}

/* Whether it is time to ask for the seat. It is as well if the clock went
 * back */
static int seat_is_due(const ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_time_t now)
{
    return (pred->ops.seat != NULL) &&
           ((pred->seat.time == 0) || (now < pred->seat.time) ||
            (now - pred->seat.time >= SEAT_INTERVAL));
}

void pred_take_seat(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    _Atomic int *mode_p = &pred->handshake.mode;
    ucs_rcache_pred_mode_t mode;
    ucs_rcache_pred_seat_t seat;

    if (!seat_is_due(pred, now)) {
        return;
    }

    pred->seat.time = now;
    pred->ops.seat(pred->params.arg, take_demand(&pred->seat), &seat);
    mode = ucs_rcache_pred_choose_mode(pred->params.helper, &seat,
                                       atomic_load(mode_p), &pred->seat.votes);
    pred->rounds.times.share = (pred->params.helper ==
                                UCS_RCACHE_PRED_HELPER_AGGRESSIVE) ?
                               ucs_rcache_pred_share(&seat) : 0;
    pred->rounds.has_cpu     = (seat.rank < seat.idle_cpus);
    if ((mode == UCS_RCACHE_PRED_MODE_THREAD) &&
        atomic_load(&pred->absence.found)) {
        return;
    }

    /* pred_wake() says what other threads make of the mode */
    if (atomic_exchange(mode_p, mode) != mode) {
        ucs_debug("the helper's work is done by %s: %u by demand, %u idle "
                  "processors", (mode == UCS_RCACHE_PRED_MODE_THREAD) ?
                  "its thread" : "the program", seat.rank, seat.idle_cpus);
    }
}
