/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <ucs/rcache_pred/cache/rcache_pred_int.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

/*
 * Who does the helper's work: its thread, or the program's threads between
 * communications. Either way it is rounds of helper.c, one at a time.
 *
 * The thread is there in both modes, but for HELPER_PROGRESS: without the work
 * it sleeps until it is given it (back).
 */

/* What a round of the thread does at most, of each queue: others may be waiting
 * for helper_mutex */
#define THREAD_STEPS   1024

/* What a round on the program's time does at most, of each queue. It is bounded
 * by number, not by time: no registration can be given up half-way. */
#define PROGRESS_STEPS 2

/* The seat among the node's processes is looked at so often, ns, while there
 * are rounds */
#define SEAT_INTERVAL  250000000

/* The thread is given up when, so many times, at least so long apart, its work
 * was found overdue and not begun: the program's threads have a higher priority
 * and leave it no processor */
#define ABSENT_CHECKS   5
#define ABSENT_INTERVAL 1000000000


static int is_on_demand(const ucs_rcache_pred_t *pred)
{
    return pred->params.policy == UCS_RCACHE_PRED_POLICY_ON_DEMAND;
}

void pred_mode_init(ucs_rcache_pred_t *pred)
{
    atomic_init(&pred->mode,
                (pred->params.helper == UCS_RCACHE_PRED_HELPER_PROGRESS) ?
                UCS_RCACHE_PRED_MODE_PROGRESS : UCS_RCACHE_PRED_MODE_THREAD);
    /* The first round is due at once: it asks for the seat */
    atomic_init(&pred->due, is_on_demand(pred) ? UCS_RCACHE_PRED_TIME_INF : 0);
    atomic_init(&pred->absent, 0);
    atomic_init(&pred->overdue_at, 0);
    atomic_init(&pred->overdue_count, 0);
    pred->mode_votes = UCS_RCACHE_PRED_MODE_VOTES - 1; /* One is enough */
    pred->epoch     = 1; /* A new region's is 0 */
}

ucs_rcache_pred_mode_t ucs_rcache_pred_get_mode(ucs_rcache_pred_t *pred)
{
    return is_on_demand(pred) ? UCS_RCACHE_PRED_MODE_NONE :
                                atomic_load(&pred->mode);
}

void ucs_rcache_pred_without_helper(ucs_rcache_pred_t *pred)
{
    pred->params.policy = UCS_RCACHE_PRED_POLICY_ON_DEMAND;
    /* Relaxed: there is no domain yet, hence nobody else */
    atomic_store_explicit(&pred->due, UCS_RCACHE_PRED_TIME_INF,
                          memory_order_relaxed);
}

ucs_rcache_pred_policy_t ucs_rcache_pred_get_policy(ucs_rcache_pred_t *pred)
{
    return pred->params.policy;
}

void pred_note_demand(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                      uint64_t length)
{
    if (region->epoch != pred->epoch) {
        region->epoch       = pred->epoch;
        pred->epoch_demand += length;
    }
}

/* A window with less than before says little: programs have periods longer than
 * one */
static uint64_t take_demand(ucs_rcache_pred_t *pred)
{
    pred->demand        = ucs_max(pred->epoch_demand,
                                  pred->demand - (pred->demand / 8));
    pred->epoch_demand = 0;
    ++pred->epoch;
    return pred->demand;
}

/* Also if the clock went back */
static int seat_is_due(const ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_time_t now)
{
    return (pred->ops.seat != NULL) &&
           ((pred->seat_time == 0) || (now < pred->seat_time) ||
            (now - pred->seat_time >= SEAT_INTERVAL));
}

void pred_take_seat(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_mode_t mode;
    ucs_rcache_pred_seat_t seat;

    if (!seat_is_due(pred, now)) {
        return;
    }

    pred->seat_time = now;
    pred->ops.seat(pred->params.arg, take_demand(pred), &seat);
    mode              = ucs_rcache_pred_choose_mode(pred->params.helper, &seat,
                                                    atomic_load(&pred->mode),
                                                    &pred->mode_votes);
    pred->times.share = (pred->params.helper ==
                         UCS_RCACHE_PRED_HELPER_AGGRESSIVE) ?
                        ucs_rcache_pred_share(&seat) : 0;
    if ((mode == UCS_RCACHE_PRED_MODE_THREAD) && atomic_load(&pred->absent)) {
        return;
    }

    /* What the others see of it: see pred_wake() */
    if (atomic_exchange(&pred->mode, mode) != mode) {
        ucs_debug("the helper's work is done by %s: %u by demand, %u idle "
                  "processors", (mode == UCS_RCACHE_PRED_MODE_THREAD) ?
                  "its thread" : "the program", seat.rank, seat.idle_cpus);
    }
}

ucs_rcache_pred_time_t ucs_rcache_pred_poll(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_time_t next = UCS_RCACHE_PRED_TIME_INF;

    if (is_on_demand(pred)) {
        return next;
    }

    if (atomic_load(&pred->mode) == UCS_RCACHE_PRED_MODE_PROGRESS) {
        atomic_store(&pred->absent, 0); /* It can be given the work again */
        return next;
    }

    pthread_mutex_lock(&pred->helper_mutex);
    next = pred_helper_round(pred, THREAD_STEPS);
    if (atomic_load(&pred->mode) == UCS_RCACHE_PRED_MODE_PROGRESS) {
        next = UCS_RCACHE_PRED_TIME_INF; /* It was the last one */
    }
    pthread_mutex_unlock(&pred->helper_mutex);
    return next;
}

/* The thread should have begun a round by now: has it had the chance? That the
 * clock jumped, or the process stood still, is not its fault: it is given time
 * to come while others run. */
static void check_absent(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    int mode = UCS_RCACHE_PRED_MODE_THREAD;

    /* Relaxed: concurrent checks may count one more */
    if (pred_elapsed(atomic_load_explicit(&pred->overdue_at,
                                          memory_order_relaxed), now) <
        ABSENT_INTERVAL) {
        return;
    }

    atomic_store_explicit(&pred->overdue_at, now, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&pred->overdue_count, 1,
                                  memory_order_relaxed) < ABSENT_CHECKS) {
        return;
    }

    atomic_store(&pred->absent, 1);
    if (atomic_compare_exchange_strong(&pred->mode, &mode,
                                       UCS_RCACHE_PRED_MODE_PROGRESS) &&
        !atomic_exchange(&pred->warned, 1)) {
        ucs_warn("the helper thread has found no processor for %d s: its work "
                 "is done while the program communicates", ABSENT_CHECKS);
    }
}

void ucs_rcache_pred_progress(ucs_rcache_pred_t *pred)
{
    /* Relaxed: a time. What there is to do is found under the mutex. */
    ucs_rcache_pred_time_t due = atomic_load_explicit(&pred->due,
                                                      memory_order_relaxed);
    ucs_rcache_pred_time_t now;
    int mode;

    if (ucs_likely(due == UCS_RCACHE_PRED_TIME_INF)) {
        return;
    }

    now = pred_now(pred);
    if (ucs_likely(now < due)) {
        return;
    }

    if (atomic_load(&pred->mode) == UCS_RCACHE_PRED_MODE_THREAD) {
        check_absent(pred, now);
        return;
    }

    /* Somebody is at it: another thread, or this one further up its stack */
    if (pthread_mutex_trylock(&pred->helper_mutex) != 0) {
        return;
    }

    pred_helper_round(pred, PROGRESS_STEPS);
    mode = atomic_load(&pred->mode);
    pthread_mutex_unlock(&pred->helper_mutex);
    if (mode == UCS_RCACHE_PRED_MODE_THREAD) {
        pred->ops.wake(pred->params.arg); /* The work is its own from now on */
    }
}
