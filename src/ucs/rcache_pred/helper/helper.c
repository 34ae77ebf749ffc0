/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper_int.h"

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

/*
 * One round of the helper (CF'11, section 3.2). Everything here runs under
 * helper_mutex; what it shares with uses is touched under the lock.
 */

/* While entries come into the DQ, it is looked at so often, ns: each round
 * interrupts whoever runs on the helper's processor. When none has come for so
 * long, the helper sleeps until it is woken: a use that ends after such a
 * silence pays for the waking, one system call, and its memory is let go of at
 * once. Where periods are short, an eighth of them; but not more often than
 * POLL_MIN. */
#define POLL_INTERVAL 1000000
#define POLL_MIN      250000

/* What is not urgent is looked at so often, ns: entries that come from regions
 * which are kept anyway, and whether others of the node ask for what is idle */
#define RELAXED_POLL_INTERVAL 4000000

/* A sleep that ended late is remembered, and fades by 1/16 with each that did
 * not. One long stall must not keep all regions registered: at most 5 ms. */
#define WAKEUP_FADE 16
#define WAKEUP_MAX  5000000

/* The counters of two processors differ by less than this, ns. A clock that
 * goes back further has jumped. */
#define CLOCK_SLACK 1000000


/* A measured cost follows its measurements by 1/8 */
static void times_update(ucs_rcache_pred_time_t *cost,
                         ucs_rcache_pred_time_t measured)
{
    *cost = (*cost * 7 + measured) / 8;
}

/* When the head of the RQ is due, or UCS_RCACHE_PRED_TIME_INF */
static ucs_rcache_pred_time_t rq_due_time(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_timeq_elem_t *elem = ucs_rcache_pred_timeq_head(&pred->rq);
    ucs_rcache_pred_times_t times;

    if (elem == NULL) {
        return UCS_RCACHE_PRED_TIME_INF;
    }

    pred_region_times(pred, pred_queue_region(elem), &times);
    return ucs_rcache_pred_due_time(&times, elem->time);
}

/* How much later than asked for did the last sleep end? */
static void measure_wakeup(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_time_t late = 0;

    if (now < pred->next_poll) {
        return; /* Woken before its time */
    }

    if (pred->next_poll != UCS_RCACHE_PRED_TIME_INF) {
        late = now - pred->next_poll;
    }
    pred->times.wakeup -= pred->times.wakeup / WAKEUP_FADE;
    pred->times.wakeup  = ucs_min(ucs_max(pred->times.wakeup, late),
                                  (ucs_rcache_pred_time_t)WAKEUP_MAX);
}

/* If the clock has jumped back, what is watched would stay registered until the
 * old time comes again: look at it now. Predictions find out by themselves. */
static void check_clock(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_timeq_elem_t *elem;

    if (now + CLOCK_SLACK < pred->last_round) {
        ucs_list_for_each(elem, &pred->awaited, list) {
            elem->time = now;
        }
        pred->last_entry = now;
        pred->urgent     = now;
    }
    pred->last_round = now;
}

static void count_round(ucs_rcache_pred_t *pred)
{
    ucs_spin_lock(&pred->lock);
    ++pred->stats.helper_rounds;
    ucs_spin_unlock(&pred->lock);
}

static ucs_rcache_pred_time_t
helper_come_back(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t next)
{
    /* Relaxed: a time */
    atomic_store_explicit(&pred->due, next, memory_order_relaxed);
    return next;
}

/* Another process of the node was refused room: give up what is idle here, one
 * region for each time it is seen. What it needs is not known, and it asks
 * again. */
static void answer_node(ucs_rcache_pred_t *pred)
{
    if ((pred->params.node != NULL) &&
        ucs_rcache_pred_node_is_asked(pred->params.node)) {
        pred_evict(pred, 0);
    }
}

/* Whether there is anything idle that others of the node could ask for */
static int may_be_asked(ucs_rcache_pred_t *pred)
{
    return (pred->params.node != NULL) && !ucs_list_is_empty(&pred->awaited);
}

/* When to look for work if nobody says that there is some. INF: not before
 * somebody does */
static ucs_rcache_pred_time_t
helper_poll_time(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_time_t interval = (pred->urgent >= pred->last_round) ?
                                      pred->poll_interval : RELAXED_POLL_INTERVAL;

    /* In the other mode the ends of uses look after the DQ */
    if ((now < pred->last_entry + interval) &&
        (atomic_load(&pred->mode) == UCS_RCACHE_PRED_MODE_THREAD)) {
        return pred->last_entry + interval;
    }

    return UCS_RCACHE_PRED_TIME_INF;
}

/*
 * When to come back. Sleeping until woken takes part in a handshake with uses
 * and unmaps: they push to the DQ (or set stale) and then look at asleep; here
 * asleep is set and then the DQ (and stale) looked at. All four are
 * sequentially consistent, so that at least one side sees the other.
 */
static ucs_rcache_pred_time_t helper_sleep(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_time_t now  = pred_now(pred);
    ucs_rcache_pred_time_t poll = helper_poll_time(pred, now);
    ucs_rcache_pred_time_t next;

    next = ucs_min(rq_due_time(pred),
                   ucs_rcache_pred_timeq_first(&pred->awaited));
    if (poll != UCS_RCACHE_PRED_TIME_INF) {
        return helper_come_back(pred, ucs_min(next, poll));
    }

    if (may_be_asked(pred)) {
        next = ucs_min(next, now + RELAXED_POLL_INTERVAL);
    }

    helper_come_back(pred, next); /* From here on others may write it */
    atomic_store(&pred->asleep, 1);
    if (ucs_rcache_pred_dq_is_empty(&pred->dq) && !atomic_load(&pred->stale)) {
        return next;
    }

    atomic_store(&pred->asleep, 0);
    return helper_come_back(pred, now);
}

void pred_expect_end(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t until,
                     ucs_rcache_pred_time_t period)
{
    pred->urgent = ucs_max(pred->urgent, until);
    if (period > 0) {
        pred->poll_interval = ucs_min(pred->poll_interval,
                                      ucs_max(period / 8, POLL_MIN));
    }
}

/* Follow the time since begin, less what was spent on registrations */
static void measure_own_work(ucs_rcache_pred_t *pred,
                             ucs_rcache_pred_time_t *cost,
                             ucs_rcache_pred_time_t begin)
{
    times_update(cost, pred_elapsed(begin + pred->outside, pred_now(pred)));
}

/* Take one entry off the DQ, if there is one */
static int helper_dq_step(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_time_t begin = pred_now(pred);
    ucs_rcache_pred_dq_entry_t entry;

    if (!ucs_rcache_pred_dq_pop(&pred->dq, &entry)) {
        return 0;
    }

    pred->outside    = 0;
    pred->last_entry = begin;
    if (pred_region_is_current(pred, entry.region, entry.generation)) {
        pred_process_dq_entry(pred, &entry);
        measure_own_work(pred, &pred->times.dq_item, begin);
    }
    return 1;
}

/* Register the head of the RQ, if it is due */
static int helper_rq_step(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_time_t begin = pred_now(pred);

    if (rq_due_time(pred) > begin) {
        return 0;
    }

    pred->outside = 0;
    pred_process_rq_head(pred);
    measure_own_work(pred, &pred->times.rq_item, begin);
    return 1;
}

/* Look at the head of the watch list, if its time is over */
static int helper_awaited_step(ucs_rcache_pred_t *pred)
{
    if (ucs_rcache_pred_timeq_first(&pred->awaited) > pred_now(pred)) {
        return 0;
    }

    pred_process_awaited_head(pred);
    return 1;
}

ucs_rcache_pred_time_t pred_helper_round(ucs_rcache_pred_t *pred,
                                         unsigned steps)
{
    unsigned left              = steps;
    ucs_rcache_pred_time_t now = pred_now(pred);
    int busy, more;

    atomic_store(&pred->asleep, 0);
    /* Relaxed: see check_absent() */
    atomic_store_explicit(&pred->overdue_count, 0, memory_order_relaxed);
    measure_wakeup(pred, now);
    check_clock(pred, now);
    count_round(pred);
    pred_take_seat(pred, now);
    answer_node(pred);
    pred->poll_interval = ucs_min(2 * pred->poll_interval, POLL_INTERVAL);
    more                = pred_reap_stale(pred, steps);

    /* In turns, so that no queue makes the other ones late; and not for ever,
     * since others may be waiting for the mutex */
    do {
        busy  = helper_dq_step(pred);
        busy |= helper_rq_step(pred);
        busy |= helper_awaited_step(pred);
    } while (busy && (--left > 0));

    more |= pred_sweep_dropped(pred, steps);
    more |= pred_collect_garbage(pred);
    if (busy || more) {
        pred->next_poll = helper_come_back(pred, pred_now(pred));
    } else {
        pred->next_poll = helper_sleep(pred);
    }
    pred_publish(pred);
    return pred->next_poll;
}
