/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper.h"

#include <ucs/sys/math.h>

/*
 * When the next round of the helper is. This is the one place that says how
 * often the thread looks at the DQ; docs/design/helper.md says it in words.
 *
 * While entries come into the DQ, the thread looks at it at intervals, since
 * each round interrupts whoever runs on the helper's processor. The interval is
 * POLL_SHARE of the shortest period among the regions that were given up of
 * late, but no shorter than POLL_MIN and no longer than POLL_MAX. Each round
 * doubles it, so that a short period that is not seen any more is forgotten. If
 * all entries come from regions that are kept anyway, the interval is
 * RELAXED_INTERVAL, since nothing is urgent about them.
 *
 * When no entry has come for as long as the interval, the helper sleeps until it
 * is woken: a use that ends after such a silence pays for the waking, one system
 * call, and its memory is let go of at once.
 *
 * Where the program does the work, the ends of uses look after the DQ instead.
 */
#define POLL_SHARE       8       /* 1/8 of a period */
#define POLL_MIN         250000  /* ns */
#define POLL_MAX         1000000 /* ns */
#define RELAXED_INTERVAL 4000000 /* ns. Also between looks whether other
                                    processes of the node ask for what is idle
                                    here */

/* The counters of two processors differ by less than this, ns. A clock that
 * goes back further has jumped. */
#define CLOCK_SLACK 1000000


void pred_pace_init(ucs_rcache_pred_t *pred)
{
    pred->rounds.next          = UCS_RCACHE_PRED_TIME_INF;
    pred->rounds.poll_interval = POLL_MAX; /* No period is known */
}

/* If the clock has jumped back, what is awaited would stay registered until the
 * old time comes again: look at it now. Predictions find out by themselves. */
static void check_clock(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    pred_rounds_t *rounds = &pred->rounds;
    ucs_rcache_pred_timeq_elem_t *elem;

    if (now + CLOCK_SLACK < rounds->last) {
        ucs_list_for_each(elem, &rounds->awaited, list) {
            elem->time = now;
        }
        rounds->last_entry = now;
        rounds->urgent     = now;
    }
}

void pred_pace_round(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    check_clock(pred, now);
    pred->rounds.last          = now;
    pred->rounds.poll_interval = ucs_min(2 * pred->rounds.poll_interval,
                                         POLL_MAX);
}

void pred_expect_end(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t until,
                     ucs_rcache_pred_time_t period)
{
    pred_rounds_t *rounds = &pred->rounds;

    rounds->urgent = ucs_max(rounds->urgent, until);
    if (period > 0) {
        rounds->poll_interval = ucs_min(rounds->poll_interval,
                                        ucs_max(period / POLL_SHARE, POLL_MIN));
    }
}

/* When to look for work if nobody says that there is some. INF: not before
 * somebody does */
static ucs_rcache_pred_time_t
poll_time(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    pred_rounds_t *rounds           = &pred->rounds;
    ucs_rcache_pred_time_t interval = (rounds->urgent >= rounds->last) ?
                                      rounds->poll_interval : RELAXED_INTERVAL;

    if ((now < rounds->last_entry + interval) &&
        (atomic_load(&pred->handshake.mode) == UCS_RCACHE_PRED_MODE_THREAD)) {
        return rounds->last_entry + interval;
    }

    return UCS_RCACHE_PRED_TIME_INF;
}

/* Whether there is anything idle that other processes of the node could ask
 * for */
static int may_be_asked(ucs_rcache_pred_t *pred)
{
    return (pred->params.node != NULL) &&
           !ucs_list_is_empty(&pred->rounds.awaited);
}

static ucs_rcache_pred_time_t
come_back(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t next)
{
    /* Relaxed: a time */
    atomic_store_explicit(&pred->handshake.due, next, memory_order_relaxed);
    return next;
}

ucs_rcache_pred_time_t pred_go_on(ucs_rcache_pred_t *pred)
{
    return come_back(pred, pred_now(pred));
}

/*
 * Sleeping until woken takes part in a handshake with uses and unmaps: they push
 * to the DQ (or set stale) and then look at asleep; here asleep is set and then
 * the DQ (and stale) looked at. All four are sequentially consistent, so that at
 * least one side sees the other.
 */
ucs_rcache_pred_time_t pred_sleep(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_time_t now  = pred_now(pred);
    ucs_rcache_pred_time_t poll = poll_time(pred, now);
    ucs_rcache_pred_time_t next;

    next = ucs_min(pred_rq_due_time(pred),
                   ucs_rcache_pred_timeq_first(&pred->rounds.awaited));
    if (poll != UCS_RCACHE_PRED_TIME_INF) {
        return come_back(pred, ucs_min(next, poll));
    }

    if (may_be_asked(pred)) {
        next = ucs_min(next, now + RELAXED_INTERVAL);
    }

    come_back(pred, next); /* From here on others may write it */
    atomic_store(&pred->handshake.asleep, 1);
    if (ucs_rcache_pred_dq_is_empty(&pred->dq) &&
        !atomic_load(&pred->handshake.stale)) {
        return next;
    }

    atomic_store(&pred->handshake.asleep, 0);
    return come_back(pred, now);
}
