/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper.h"
#include "spend.h"

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

/*
 * Who does the helper's work: its thread, or the program's threads between
 * communications. The seat of this process among those of its node says so (CF'11,
 * section 5); poll.c gives the program the work, too, when the helper thread gets no
 * processor. The process tells the others its demand.
 *
 * Demand is counted in epochs; an epoch is the time from one seat to the next.
 * A region that is used in an epoch counts once, with the length of its first use in the
 * epoch, or of all slices that were joined with it.
 */

/* How often rounds ask for the seat, ns: each time that a quarter of the time since the
 * first request has passed since the last one, within these limits. Seats change most at
 * first, as long as nobody knows which processors are idle */
#define SEAT_INTERVAL_MIN 50000000
#define SEAT_INTERVAL_MAX 250000000
#define SEAT_AGE_SHARE    4

/* The helper's processor counts as shared if so many sleeps in a row have ended late, see
 * times.c */
#define LATE_SLEEPS 2

/* From one epoch to the next, the demand falls by this part, 1/8, at most. A single epoch
 * with less demand says little, since many programs have periods longer than an epoch. */
#define DEMAND_FADE   8


void pred_seat_init(ucs_rcache_pred_t *pred)
{
    pred_handshake_t *handshake = &pred->handshake;

    /* The first seat decides at once: one vote is enough */
    pred->seat.votes = UCS_RCACHE_PRED_MODE_VOTES - 1;
    pred->seat.epoch = 1; /* New regions have 0, which no epoch is */
    atomic_init(&handshake->mode,
                (pred->params.helper == UCS_RCACHE_PRED_HELPER_PROGRESS) ?
                UCS_RCACHE_PRED_MODE_PROGRESS : UCS_RCACHE_PRED_MODE_THREAD);
    /* The first round is due at once, since it asks for the seat */
    atomic_init(&handshake->due,
                pred_is_on_demand(pred) ? UCS_RCACHE_PRED_TIME_INF : 0);
}

ucs_rcache_pred_mode_t ucs_rcache_pred_get_mode(ucs_rcache_pred_t *pred)
{
    return pred_is_on_demand(pred) ? UCS_RCACHE_PRED_MODE_NONE :
                                     atomic_load(&pred->handshake.mode);
}

void ucs_rcache_pred_without_helper(ucs_rcache_pred_t *pred)
{
    pred->params.policy = UCS_RCACHE_PRED_POLICY_ON_DEMAND;
    /* Relaxed: there is no domain yet, so no other thread uses the cache */
    ucs_relaxed_store(&pred->handshake.due, UCS_RCACHE_PRED_TIME_INF);
}

ucs_rcache_pred_policy_t ucs_rcache_pred_get_policy(ucs_rcache_pred_t *pred)
{
    return pred->params.policy;
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

/* Whether it is time to ask for the seat. After the clock went back it is time at once */
static int seat_is_due(const ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_time_t age = pred_elapsed(pred->seat.first, now);

    return (pred->ops.seat != NULL) &&
           ((pred->seat.time == 0) || (now < pred->seat.time) ||
            (now - pred->seat.time >=
             ucs_min(ucs_max(age / SEAT_AGE_SHARE, SEAT_INTERVAL_MIN),
                     SEAT_INTERVAL_MAX)));
}

/* Whether the helper thread shares its processor with others, going by its late sleeps,
 * whatever the seat has said. While memory is short, the thread may share a processor. Not
 * asked without seats: the thread would lose the work here, and nothing would give the work
 * back */
static int is_displaced(ucs_rcache_pred_t *pred)
{
    return (atomic_load(&pred->handshake.mode) == UCS_RCACHE_PRED_MODE_THREAD) &&
           (pred->params.helper == UCS_RCACHE_PRED_HELPER_CONSERVATIVE) &&
           (pred->ops.seat != NULL) && (pred->seat.late >= LATE_SLEEPS) &&
           !pred->shortage.state.is_short;
}

/* Have the thread or the program do the helper's work from now on */
static void set_mode(ucs_rcache_pred_t *pred, ucs_rcache_pred_mode_t mode)
{
    if ((mode == UCS_RCACHE_PRED_MODE_THREAD) &&
        atomic_load(&pred->absence.found)) {
        return;
    }

    /* Sequentially consistent: pred_wake() says which threads read the mode, and why in
     * this order */
    if (atomic_exchange(&pred->handshake.mode, mode) == mode) {
        return;
    }

    pred->seat.late = 0;
    pred_spend_begin_anew(&pred->rounds);
    if (mode == UCS_RCACHE_PRED_MODE_THREAD) {
        /* The thread asks for its seat in its first round, since no other thread can
         * bind it to a processor */
        pred->seat.time = 0;
    }
    ucs_debug("the helper's work is done by %s", (mode == UCS_RCACHE_PRED_MODE_THREAD) ?
              "its thread" : "the program");
}

void pred_take_seat(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_seat_t seat;

    if (is_displaced(pred)) {
        pred->seat.votes = 0;
        set_mode(pred, UCS_RCACHE_PRED_MODE_PROGRESS);
    }
    if (!seat_is_due(pred, now)) {
        return;
    }

    if ((pred->seat.first == 0) || (now < pred->seat.first)) {
        pred->seat.first = now;
    }
    pred->seat.time = now;
    pred->ops.seat(pred->params.arg, take_demand(&pred->seat), &seat);
    pred->rounds.times.share = (pred->params.helper ==
                                UCS_RCACHE_PRED_HELPER_AGGRESSIVE) ?
                               ucs_rcache_pred_share(&seat) : 0;
    pred_spend_set_seat(pred, &seat);
    set_mode(pred, ucs_rcache_pred_choose_mode(pred->params.helper, &seat,
                                               pred->shortage.state.is_short,
                                               atomic_load(&pred->handshake.mode),
                                               &pred->seat.votes));
}
