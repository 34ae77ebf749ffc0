/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "decide.h"
#include "helper.h"
#include "spend.h"

#include <ucs/rcache_pred/cache/bound.h>
#include <ucs/rcache_pred/cache/lanes.h>

#include <ucs/sys/math.h>

/*
 * When the next round of the helper is. This is the one place that says how
 * often the thread looks at the DQ; docs/design/helper.md says it in words.
 *
 * While entries come into the DQ, the thread looks at it at intervals, since
 * each round interrupts the thread that runs on the helper's processor. The interval is
 * 1 / POLL_SHARE of the shortest period among the regions that were
 * deregistered lately, but no shorter than POLL_MIN and no longer than
 * PRED_POLL_MAX. Each round doubles it, so that a short period that has ended is
 * forgotten. If all entries come from regions that are kept registered anyway,
 * the interval is RELAXED_INTERVAL, since such entries are not urgent.
 *
 * When no entry has come for as long as the interval, the helper sleeps until
 * it is woken. The first use that ends after such a silence has to wake it,
 * which takes one system call, and its memory is deregistered at once.
 *
 * Under a budget (spend.c) neither the thread nor the program looks at the DQ before the
 * time quiet_until. Registrations ahead of a use do not wait for that time.
 *
 * Where the program does the helper's work, the thread does not look at the DQ:
 * each end of a use processes entries instead.
 */
#define POLL_SHARE       8       /* 1/8 of a period */
#define POLL_MIN         250000  /* ns */
#define RELAXED_INTERVAL 4000000 /* ns. Also how often to look for unmapped memory
                                    after memory was unmapped lately */

/* How often to look whether memory was unmapped, while there is no budget for anything
 * else, ns: each QUIET_INTERVAL, or each RELAXED_INTERVAL if memory was unmapped in the
 * last QUIET_LATELY ns */
#define QUIET_INTERVAL 50000000
#define QUIET_LATELY   1000000000


void pred_pace_init(ucs_rcache_pred_t *pred)
{
    pred->rounds.next          = UCS_RCACHE_PRED_TIME_INF;
    pred->rounds.poll_interval = PRED_POLL_MAX; /* No period is known yet */
}

/* Take all regions off the registration queue. The next use of each will register it. */
static void clear_rq(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_timeq_elem_t *elem;

    pred_lock(pred);
    while ((elem = ucs_rcache_pred_timeq_head(&pred->rounds.rq)) != NULL) {
        pred_dequeue(pred, pred_queue_region(elem));
    }
    pred_unlock(pred);
}

/* If the clock has jumped back, set all planned times to now: otherwise the helper would
 * do nothing until the clock has reached the old times again. Regions on the awaited list
 * are decided about now; histories notice the jump by themselves. */
static void check_clock(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    pred_rounds_t *rounds = &pred->rounds;

    if (now + PRED_CLOCK_SLACK < rounds->last) {
        clear_rq(pred);
        pred_stop_awaiting(pred, now);
        rounds->last_entry  = now;
        rounds->urgent      = now;
        rounds->quiet_until = now;
        rounds->merge_after = now;
        rounds->reaped      = 0;
        rounds->full        = now;
    }
}

void pred_pace_round(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    check_clock(pred, now);
    pred->rounds.last          = now;
    /* Relaxed: nothing else is read by its value */
    ucs_relaxed_store(&pred->handshake.last, now);
    pred->rounds.poll_interval = ucs_min(2 * pred->rounds.poll_interval,
                                         PRED_POLL_MAX);
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

/* When to look at the DQ again even if nobody wakes the helper;
 * UCS_RCACHE_PRED_TIME_INF if the helper waits until somebody wakes it */
static ucs_rcache_pred_time_t
poll_time(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    pred_rounds_t *rounds           = &pred->rounds;
    ucs_rcache_pred_time_t interval = (rounds->urgent >= rounds->fed) ?
                                      rounds->poll_interval : RELAXED_INTERVAL;

    if ((now < rounds->last_entry + interval) &&
        (atomic_load(&pred->handshake.mode) == UCS_RCACHE_PRED_MODE_THREAD)) {
        return rounds->last_entry + interval;
    }

    return UCS_RCACHE_PRED_TIME_INF;
}

static ucs_rcache_pred_time_t
come_back(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t next)
{
    /* Relaxed: nothing else is read by its value */
    ucs_relaxed_store(&pred->handshake.due, next);
    return next;
}

/* When to do the next round for the queues that wait until there is budget for them, or
 * to look for unmapped memory, whichever is earlier */
static ucs_rcache_pred_time_t
quiet_time(const ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    const pred_rounds_t *rounds     = &pred->rounds;
    ucs_rcache_pred_time_t interval = QUIET_INTERVAL;

    if ((rounds->reaped > 0) &&
        (pred_elapsed(rounds->reaped, now) < QUIET_LATELY)) {
        interval = RELAXED_INTERVAL;
    }

    return ucs_min(ucs_max(now, rounds->quiet_until), now + interval);
}

/* Whether there are entries in the DQ, or this round has found some, so that more entries
 * are to be expected. Then the helper does not sleep until it is woken: uses would wake
 * it for entries before there is budget to look at them */
static int is_busy(ucs_rcache_pred_t *pred)
{
    int busy = (pred->rounds.last_entry >= pred->rounds.last);

    pred_lock(pred);
    busy |= !pred_dq_is_empty(pred);
    pred_unlock(pred);
    return busy;
}

ucs_rcache_pred_time_t pred_go_on(ucs_rcache_pred_t *pred)
{
    return come_back(pred, ucs_min(pred_rq_due_time(pred),
                                   quiet_time(pred, pred->rounds.now)));
}

/*
 * A helper that sleeps until it is woken must not miss an entry. A use pushes
 * its entry to the DQ under the lock, and then looks at asleep. Here the helper, under
 * the lock too, sets asleep and then looks at the DQ. So either the use has the lock
 * first, and the helper sees the entry; or the helper has it first, and the use sees that
 * the helper is asleep. An unmap first sets stale and then looks at asleep, and the
 * helper looks at stale after it has set asleep. These accesses are sequentially
 * consistent, so that the helper sees stale, or the unmap sees asleep.
 */
ucs_rcache_pred_time_t pred_sleep(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_time_t now  = pred->rounds.now;
    ucs_rcache_pred_time_t poll = poll_time(pred, now);
    ucs_rcache_pred_time_t next;
    int is_empty;

    next = ucs_max(ucs_rcache_pred_timeq_first(&pred->rounds.awaited),
                   pred->rounds.quiet_until);
    next = ucs_min(pred_rq_due_time(pred), next);
    next = ucs_min(pred_shortage_due(pred, now), next);
    if (poll != UCS_RCACHE_PRED_TIME_INF) {
        return come_back(pred, ucs_min(next, ucs_max(poll,
                                                     quiet_time(pred, now))));
    }

    if (!pred_spend_may_look(pred, now) && is_busy(pred)) {
        return come_back(pred, ucs_min(next, quiet_time(pred, now)));
    }

    if (!ucs_rcache_pred_timeq_is_empty(&pred->rounds.awaited)) {
        next = ucs_min(next, pred_answer_due(pred, now));
    }

    come_back(pred, next); /* Once asleep is set, other threads may write due */
    pred_lock(pred);
    atomic_store(&pred->handshake.asleep, 1);
    is_empty = pred_dq_is_empty(pred);
    pred_unlock(pred);
    if (is_empty && !atomic_load(&pred->handshake.stale)) {
        /* The end of a use wakes the helper thread only where that thread does the work,
         * and not the program */
        pred->rounds.slept = (atomic_load(&pred->handshake.mode) ==
                              UCS_RCACHE_PRED_MODE_THREAD);
        return next;
    }

    atomic_store(&pred->handshake.asleep, 0);
    return come_back(pred, now);
}
