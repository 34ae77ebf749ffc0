/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper.h"
#include "spend.h"

#include <ucs/rcache_pred/cache/bound.h>
#include <ucs/rcache_pred/cache/lanes.h>

#include <ucs/sys/math.h>

/*
 * What the helper spends of the budget. All prices are in ns of the program's time. The
 * program's own time counts in full, and so does the helper's time while the program does
 * the helper's work or shares its processor with the helper. The time of a helper with a
 * processor of its own counts for less.
 */

/* How long, ns, a bound counts as full after regions had to be evicted to make room, or the
 * system refused a registration */
#define FULL_TIME 1000000000

/* While the helper seldom looks at uses, it predicts none. So while a bound is full, it
 * looks at all uses now and then, in a trial, to find out whether it can predict them. A
 * trial lasts for TRIAL_USES uses of each region that has recurred (of TRIAL_REGIONS
 * regions at least). The next one begins when the bound has cost the program TRIAL_PRICE
 * times as much as the rounds of the trial: so trials add 1/32 to what the bound costs */
#define TRIAL_USES    4
#define TRIAL_REGIONS 64
#define TRIAL_PRICE   32

/* While a bound is full and predictions do not tell what to give up, the pause after a
 * round is this many times as long as the budget asks for: rounds help little, since
 * they find little that changes what gives way */
#define BLIND_PAUSE 8

/* Where the program does the rounds, the time without a round, up to this much, ns, pays
 * for the rounds that follow: a program that computes for long between its messages has
 * to do many rounds at once when it communicates */
#define ROUNDS_CREDIT 100000000

/* If a program does nothing but communicate, its rounds are in vain: they find no region
 * with enough time before its next use to be given up, and each round delays a message.
 * The pauses between such rounds become up to this many times as long as the budget asks
 * for */
#define BACKOFF_MAX 16

/* The most that a round of the program costs, ns. It takes some us, without
 * registrations. A round that has taken longer was interrupted: the system has given the
 * processor to another thread meanwhile. The processor time of the thread would tell
 * the two apart, at 1.4 us a round, a third of what the round takes (AMD EPYC, Linux
 * 6.18, virtual machine) */
#define PROGRAM_ROUND_MAX 50000

/* The longest idle time, ns, that pred_spend_least_idle() returns. While the account is
 * empty, a region would have to be idle for ever to be worth giving up, but after this
 * time the account may be full again */
#define LEAST_IDLE_MAX 1e9


void pred_spend_init(ucs_rcache_pred_t *pred)
{
    pred->rounds.budget.rate = pred->params.budget;
    pred->rounds.backoff     = 1;
    pred->rounds.idle        = 1; /* Until a seat says something else */
    pred->integral.share     = 1;
}

static int is_thread(const ucs_rcache_pred_t *pred)
{
    return atomic_load(&pred->handshake.mode) == UCS_RCACHE_PRED_MODE_THREAD;
}

int pred_spend_has_own_cpu(const ucs_rcache_pred_t *pred)
{
    return is_thread(pred) && (pred->rounds.idle > 0);
}

/* What a ns of the helper's work costs: the part of the ns that the program lacks, plus a
 * small price for the part that the helper has for itself */
static double helper_price(const ucs_rcache_pred_t *pred)
{
    double idle = is_thread(pred) ? pred->rounds.idle : 0;

    return (1 - idle) +
           (idle * ucs_rcache_pred_budget_own_price(&pred->rounds.budget));
}

void pred_spend_begin_anew(pred_rounds_t *rounds)
{
    rounds->backoff     = 1;
    rounds->quiet_until = ucs_min(rounds->quiet_until, rounds->last);
}

void pred_spend_set_rate(ucs_rcache_pred_t *pred)
{
    /* The share is written under helper_mutex as well */
    double rate = pred->params.budget * pred->integral.share;

    pred->rounds.budget.rate = (rate == 0) ? 0 :
                               (rate + pred->shortage.state.part);
}

void pred_spend_set_seat(ucs_rcache_pred_t *pred, const ucs_rcache_pred_seat_t *seat)
{
    pred->rounds.idle = seat->idle;
    pred_lock(pred);
    pred_stats_advance(pred, pred_now(pred));
    pred->integral.share = seat->share;
    pred_unlock(pred);
    pred_spend_set_rate(pred);
}

/* The processor time of the helper thread; or the present time, if the user of the cache
 * has handed in no function busy, or the program does the round */
static ucs_rcache_pred_time_t
busy_time(const ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    return (pred->rounds.by_thread && (pred->ops.busy != NULL)) ?
           pred->ops.busy(pred->params.arg) : now;
}

int pred_spend_is_full(const ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    return now < pred->rounds.full;
}

int pred_spend_is_foretold(const ucs_rcache_pred_t *pred)
{
    return 2 * pred->rounds.foretold >= PRED_FORETOLD_ALL;
}

/* Whether rounds follow each other without a pause: a bound is full, and predictions tell
 * what should give way, or a trial shall show whether they do */
static int goes_on(const ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    return pred_spend_is_full(pred, now) &&
           (pred->rounds.is_trial || pred_spend_is_foretold(pred));
}

/* Begin a trial if a bound is full, and has cost TRIAL_PRICE times as much as the last trial
 * since that began. Under lock. */
static void begin_trial(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    pred_rounds_t *rounds = &pred->rounds;
    unsigned regions      = ucs_max(pred->table.count - pred->table.num_newcomers,
                                    TRIAL_REGIONS);

    if (pred_spend_is_full(pred, now) &&
        (pred->stats.room_lost - rounds->trial_begin >=
         TRIAL_PRICE * rounds->trial_cost)) {
        rounds->trial_begin = pred->stats.room_lost;
        rounds->trial_end   = pred->stats.uses + (TRIAL_USES * regions);
        rounds->trial_cost  = 0;
    }
    rounds->is_trial = (pred->stats.uses < rounds->trial_end);
}

void pred_spend_round_begin(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    const ucs_rcache_pred_stats_t *stats = &pred->stats;
    pred_rounds_t *rounds                = &pred->rounds;
    ucs_rcache_pred_time_t lost;
    uint64_t evictions;

    ucs_rcache_pred_budget_advance(&rounds->budget, now);
    rounds->found         = 0;
    rounds->by_thread     = is_thread(pred);
    rounds->busy_begin    = busy_time(pred, now);
    rounds->outside_begin = rounds->outside;

    pred_lock(pred);
    ++pred->stats.helper_rounds;
    lost       = pred->lost;
    pred->lost = 0;
    evictions  = stats->evictions + stats->refused_node + stats->refused_system;
    if (evictions != rounds->evictions) {
        rounds->evictions = evictions;
        rounds->full      = now + FULL_TIME;
    }
    begin_trial(pred, now);
    rounds->foretold = pred->bound.foretold;
    pred_unlock(pred);

    if (goes_on(pred, now)) {
        rounds->quiet_until = now;
    }
    if (pred->shortage.state.is_short) {
        /* Uses may have waited for swap for seconds: not to be paid for years */
        lost = ucs_min(lost, ucs_rcache_pred_budget_most(&rounds->budget));
    }
    ucs_rcache_pred_budget_spend(&rounds->budget, lost);
}

/* By how much to multiply the pause that the budget asks for after a round of the
 * program. Each round in vain doubles the number. If a round began after quiet_until by
 * more than the length of the last pause, the program has computed in between, and not
 * polled for messages: the number becomes 1, since a round of such a program may find
 * something at any time */
static unsigned next_backoff(const ucs_rcache_pred_t *pred)
{
    const pred_rounds_t *rounds = &pred->rounds;

    if (is_thread(pred) || rounds->found ||
        (pred_elapsed(rounds->quiet_until, rounds->last) > rounds->pause)) {
        return 1;
    }

    return (rounds->last_entry < rounds->last) ?
           rounds->backoff : ucs_min(2 * rounds->backoff, BACKOFF_MAX);
}

/* After a round of this cost, put off the next look at entries by the pause that the
 * budget asks for. Time without rounds pays for none that follow if the thread does them:
 * it need not catch up, since it can do a round at any time, and fewer rounds, which find
 * more to do, cost less */
static void put_off(ucs_rcache_pred_t *pred, double cost, ucs_rcache_pred_time_t now)
{
    pred_rounds_t *rounds         = &pred->rounds;
    ucs_rcache_pred_time_t credit = is_thread(pred) ? 0 : ROUNDS_CREDIT;

    if (!pred_spend_may_look(pred, now)) {
        /* This round came before quiet_until, to register ahead or to clear away. However
         * often such rounds come, and whatever they cost, the next look comes PAUSE_MAX
         * after the last look at the latest */
        rounds->quiet_until += ucs_rcache_pred_budget_pause(&rounds->budget, cost);
        rounds->quiet_until  = ucs_min(rounds->quiet_until,
                                       rounds->looked + UCS_RCACHE_PRED_PAUSE_MAX);
        return;
    }

    rounds->looked      = now;
    rounds->backoff     = next_backoff(pred);
    cost               *= rounds->backoff *
                          (pred_spend_is_full(pred, now) ? BLIND_PAUSE : 1);
    rounds->pause       = ucs_rcache_pred_budget_pause(&rounds->budget, cost);
    rounds->quiet_until = ucs_max(rounds->quiet_until,
                                  pred_elapsed(credit, now)) +
                          rounds->pause;
}

void pred_spend_round_end(ucs_rcache_pred_t *pred)
{
    pred_rounds_t *rounds          = &pred->rounds;
    ucs_rcache_pred_time_t outside = rounds->outside - rounds->outside_begin;
    double cost;

    pred_step_begin(pred);
    cost    = pred_elapsed(rounds->busy_begin + outside,
                           busy_time(pred, rounds->now));
    cost    = rounds->by_thread ? (cost + UCS_RCACHE_PRED_SWITCHES_COST) :
                                  ucs_min(cost, PROGRAM_ROUND_MAX);
    cost   *= helper_price(pred);

    ucs_rcache_pred_budget_spend(&rounds->budget, cost);
    rounds->trial_cost += rounds->is_trial ? cost : 0;
    if (!goes_on(pred, rounds->now)) {
        put_off(pred, cost, rounds->now);
    }
    pred_lock(pred);
    pred->stats.budget_spent = rounds->budget.spent;
    pred->stats.dq_dropped   = pred_dq_dropped(pred);
    pred_unlock(pred);
}

int pred_spend_may_look(const ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_time_t now)
{
    return now >= pred->rounds.quiet_until;
}

/* For how long nobody will use a region of which no use is predicted: as long as between
 * most of its uses, or once more as long as it has been idle already, whichever is
 * longer. A region that was used only once was not used again since the account was
 * opened: for that time once more. */
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
                      const ucs_rcache_pred_times_t *times)
{
    double worth = ucs_rcache_pred_budget_worth(&pred->rounds.budget);
    double cost  = (helper_price(pred) * times->dereg) + times->reg;

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

int pred_spend_on_merge(ucs_rcache_pred_t *pred, uint64_t bytes,
                        ucs_rcache_pred_time_t time)
{
    ucs_rcache_pred_budget_t *budget = &pred->rounds.budget;

    return ucs_rcache_pred_budget_give_up(budget, bytes,
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
        /* The account has paid for a registration by the helper, which is not made */
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

void pred_spend_on_evicted(ucs_rcache_pred_t *pred,
                           ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_times_t times;

    pred_lock(pred);
    pred_region_times(pred, region, &times);
    if (pred_spend_has_own_cpu(pred)) {
        ucs_rcache_pred_budget_spend(&pred->rounds.budget,
                                     helper_price(pred) * times.reg);
    } else {
        pred->stats.room_lost += times.reg;
    }
    pred_unlock(pred);
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
