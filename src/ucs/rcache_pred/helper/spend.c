/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "spend.h"
#include "times.h"

#include <ucs/rcache_pred/cache/bound.h>
#include <ucs/rcache_pred/cache/register.h>

#include <ucs/sys/math.h>

/*
 * What the helper spends of the budget. All prices are in ns of the program:
 * its own time counts in full, and so does the helper's time while the program
 * does the helper's work or shares its processor with the helper. The time of a
 * helper with a processor of its own counts for less.
 */

/* For so long after room had to be made, because a bound was reached or the
 * system refused a registration, the budget does not matter, ns. What the
 * helper does not give up by then, a use has to */
#define PRESSED_TIME 1000000000

/* Where the program makes the rounds, time without any counts for those that
 * follow, up to so much, ns: it computes for long between its messages, and then
 * has to make many of them at once */
#define ROUNDS_CREDIT 100000000

/* While the account is empty nothing is worth giving up, however long it is idle. But after
 * so long, ns, it may be full again */
#define LEAST_IDLE_MAX 1e9

/* The budget does not matter either while what was used lately takes more than
 * this part of the bound on bytes */
#define PRESSED_SHARE(_bytes) ((_bytes) - ((_bytes) / 8))


void pred_spend_init(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_budget_init(&pred->rounds.budget, pred->params.budget);
    pred->rounds.idle    = 1; /* Until a seat says something else */
    pred->integral.share = 1;
}

static int is_thread(const ucs_rcache_pred_t *pred)
{
    return atomic_load(&pred->handshake.mode) == UCS_RCACHE_PRED_MODE_THREAD;
}

/* What a ns of whoever does the helper's work costs: the part of it that the program
 * lacks, and a small price for what nobody else needs */
static double helper_price(const ucs_rcache_pred_t *pred)
{
    double idle = is_thread(pred) ? pred->rounds.idle : 0;

    return (1 - idle) +
           (idle * ucs_rcache_pred_budget_own_price(&pred->rounds.budget));
}

void pred_spend_set_seat(ucs_rcache_pred_t *pred, const ucs_rcache_pred_seat_t *seat)
{
    pred->rounds.idle = seat->idle;
    ucs_rcache_pred_budget_set_rate(&pred->rounds.budget,
                                    pred->params.budget * seat->share);
    pred_lock(pred);
    pred_stats_advance(pred, pred_now(pred));
    pred->integral.share = seat->share;
    pred_unlock(pred);
}

/* The processor time of the thread that does the round, or the time if nobody
 * tells that */
static ucs_rcache_pred_time_t busy_time(const ucs_rcache_pred_t *pred)
{
    return (pred->ops.busy != NULL) ? pred->ops.busy(pred->params.arg) :
                                      pred_now(pred);
}

int pred_spend_is_pressed(const ucs_rcache_pred_t *pred,
                          ucs_rcache_pred_time_t now)
{
    return (now < pred->rounds.pressed) ||
           (pred->seat.demand > PRESSED_SHARE(pred->params.max_bytes));
}

void pred_spend_round_begin(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    pred_rounds_t *rounds = &pred->rounds;
    ucs_rcache_pred_time_t lost;
    uint64_t made_room;

    ucs_rcache_pred_budget_advance(&rounds->budget, now);
    rounds->busy_begin    = busy_time(pred);
    rounds->outside_begin = rounds->outside;

    pred_lock(pred);
    lost       = pred->lost;
    pred->lost = 0;
    made_room  = pred->stats.evictions + pred->stats.refused;
    pred_unlock(pred);

    if (made_room != rounds->made_room) {
        rounds->made_room = made_room;
        rounds->pressed   = now + PRESSED_TIME;
    }
    if (pred_spend_is_pressed(pred, now)) {
        /* The bound comes before the budget: rounds make room without a pause,
         * and uses that register again would do so under leave-pinned as well */
        rounds->quiet_until = now;
    } else {
        ucs_rcache_pred_budget_spend(&rounds->budget, lost);
    }
}

/* How much time without rounds counts for those that follow. The thread can make
 * them at any time: fewer of them, which find more to do, cost less */
static ucs_rcache_pred_time_t get_credit(const ucs_rcache_pred_t *pred)
{
    return is_thread(pred) ? 0 : ROUNDS_CREDIT;
}

void pred_spend_round_end(ucs_rcache_pred_t *pred)
{
    pred_rounds_t *rounds = &pred->rounds;
    ucs_rcache_pred_time_t outside, now;
    double cost;

    outside = rounds->outside - rounds->outside_begin;
    cost    = pred_elapsed(rounds->busy_begin + outside, busy_time(pred));
    if (is_thread(pred)) {
        cost += UCS_RCACHE_PRED_SWITCHES_COST;
    }
    cost *= helper_price(pred);

    ucs_rcache_pred_budget_spend(&rounds->budget, cost);
    now = pred_now(pred);
    if (!pred_spend_is_pressed(pred, now)) {
        rounds->quiet_until = ucs_max(rounds->quiet_until,
                                      pred_elapsed(get_credit(pred), now)) +
                              ucs_rcache_pred_budget_pause(&rounds->budget,
                                                           cost);
    }
    pred_lock(pred);
    pred->stats.budget_spent = rounds->budget.spent;
    pred_unlock(pred);
}

int pred_spend_may_look(const ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_time_t now)
{
    return now >= pred->rounds.quiet_until;
}

/* For how long nobody will use a region of which no use is predicted: as long
 * as between most of its uses, or once more as long as it has been idle
 * already. One that was used once was not needed for as long as the program
 * runs. */
static ucs_rcache_pred_time_t
guess_idle(const ucs_rcache_pred_t *pred,
           const ucs_rcache_pred_region_t *region, ucs_rcache_pred_time_t now)
{
    const ucs_rcache_pred_history_t *history = &region->forecast.history;

    if (history->count == 0) {
        return ucs_rcache_pred_budget_age(&pred->rounds.budget);
    }

    return ucs_max(history->typical, pred_elapsed(history->last, now));
}

double pred_spend_worth(const ucs_rcache_pred_t *pred)
{
    return helper_price(pred) *
           ucs_rcache_pred_budget_worth(&pred->rounds.budget);
}

ucs_rcache_pred_time_t
pred_spend_least_idle(const ucs_rcache_pred_t *pred, uint64_t bytes,
                      const ucs_rcache_pred_times_t *times,
                      ucs_rcache_pred_time_t now)
{
    double cost = (helper_price(pred) * times->dereg) + times->reg;
    double worth;

    if (pred_spend_is_pressed(pred, now)) {
        return 0;
    }

    worth = ucs_rcache_pred_budget_worth(&pred->rounds.budget);
    return ucs_min(cost * worth / bytes, LEAST_IDLE_MAX);
}

int pred_spend_on_bytes(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region, uint64_t bytes,
                        const ucs_rcache_pred_times_t *times,
                        ucs_rcache_pred_time_t now,
                        ucs_rcache_pred_time_t deadline)
{
    double price   = helper_price(pred);
    double cost    = price * times->dereg;
    double deposit = 0;
    ucs_rcache_pred_time_t idle, prepaid;
    int give_up;

    if (pred_spend_is_pressed(pred, now)) {
        return 1;
    }

    if (deadline == UCS_RCACHE_PRED_TIME_INF) {
        idle    = guess_idle(pred, region, now);
        prepaid = times->reg;
        deposit = prepaid;
    } else {
        idle    = pred_elapsed(now, deadline);
        prepaid = price * times->reg;
        cost   += prepaid;
    }

    give_up           = ucs_rcache_pred_budget_give_up(&pred->rounds.budget,
                                                       bytes, idle, cost,
                                                       deposit);
    region->prepaid   = give_up ? prepaid : 0;
    region->set_aside = (deadline == UCS_RCACHE_PRED_TIME_INF);
    return give_up;
}

int pred_spend_on_region(ucs_rcache_pred_t *pred,
                         ucs_rcache_pred_region_t *region,
                         const ucs_rcache_pred_times_t *times,
                         ucs_rcache_pred_time_t now,
                         ucs_rcache_pred_time_t deadline)
{
    pred_handle_t handle;

    pred_lock(pred);
    handle = pred_region_handle(region);
    pred_unlock(pred);
    return pred_spend_on_bytes(pred, region,
                               pred_page_bytes(pred, handle.start,
                                               handle.length),
                               times, now, deadline);
}

int pred_spend_on_merge(ucs_rcache_pred_t *pred, uint64_t bytes,
                        ucs_rcache_pred_time_t time)
{
    ucs_rcache_pred_budget_t *budget = &pred->rounds.budget;

    return !pred_spend_is_pressed(pred, pred_now(pred)) &&
           ucs_rcache_pred_budget_give_up(budget, bytes,
                                          ucs_rcache_pred_budget_age(budget),
                                          helper_price(pred) * time, 0);
}

ucs_rcache_pred_time_t
pred_spend_look_again(const ucs_rcache_pred_t *pred,
                      const ucs_rcache_pred_region_t *region,
                      ucs_rcache_pred_time_t now,
                      ucs_rcache_pred_time_t deadline)
{
    return now + ((deadline == UCS_RCACHE_PRED_TIME_INF) ?
                  guess_idle(pred, region, now) : ((deadline - now) / 2));
}

void pred_refund_on_use(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_budget_t *budget = &pred->rounds.budget;

    if (region->set_aside) {
        ucs_rcache_pred_budget_return(budget, region->prepaid);
    } else {
        /* The helper was to register it, and has been paid for that */
        ucs_rcache_pred_budget_spend(budget, -(double)region->prepaid);
    }
    region->prepaid = 0;
}

void pred_spend_on_ahead(ucs_rcache_pred_t *pred,
                         ucs_rcache_pred_region_t *region,
                         const ucs_rcache_pred_times_t *times)
{
    if ((region->prepaid == 0) || !region->set_aside) {
        return;
    }

    pred_refund_on_use(pred, region);
    region->prepaid   = helper_price(pred) * times->reg;
    region->set_aside = 0;
    ucs_rcache_pred_budget_spend(&pred->rounds.budget, region->prepaid);
}

void pred_spend_on_forgotten(ucs_rcache_pred_t *pred,
                             ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_times_t times;

    if (region->prepaid > 0) {
        pred_refund_on_use(pred, region);
        pred_region_times(pred, region, &times);
        ucs_rcache_pred_budget_spend(&pred->rounds.budget, times.reg);
    }
}
