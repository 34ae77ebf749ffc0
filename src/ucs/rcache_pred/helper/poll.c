/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper.h"

#include <ucs/debug/log_def.h>

/*
 * Where the helper thread and the program start rounds of the helper
 * (helper.c). helper_mutex lets one of them do a round at a time.
 *
 * The thread exists in both modes, unless the helper is HELPER_PROGRESS. While
 * the program does the work, the thread sleeps until it gets the work, or gets
 * it back.
 */

/* How many entries of each queue a round of the thread processes at most, since
 * other threads may be waiting for helper_mutex */
#define THREAD_STEPS    1024

/* How many entries of each queue a round of the program processes at most. The
 * bound is a number rather than a time, since no registration can be
 * interrupted. */
#define PROGRESS_STEPS  2

/* The work is taken from the thread when it was found overdue so many times,
 * with at least so many ns in between, and no round began meanwhile. Then the
 * program's threads have a higher priority and leave it no processor */
#define ABSENT_CHECKS   5
#define ABSENT_INTERVAL 1000000000


ucs_rcache_pred_time_t ucs_rcache_pred_poll(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_time_t next = UCS_RCACHE_PRED_TIME_INF;

    if (pred_is_on_demand(pred)) {
        return next;
    }

    if (atomic_load(&pred->handshake.mode) == UCS_RCACHE_PRED_MODE_PROGRESS) {
        atomic_store(&pred->absence.found, 0); /* The thread has a processor, so
                                                  that it can get the work
                                                  back */
        return next;
    }

    pthread_mutex_lock(&pred->helper_mutex);
    next = pred_helper_round(pred, THREAD_STEPS);
    if (atomic_load(&pred->handshake.mode) == UCS_RCACHE_PRED_MODE_PROGRESS) {
        next = UCS_RCACHE_PRED_TIME_INF; /* This was the last round of the
                                            thread */
    }
    pthread_mutex_unlock(&pred->helper_mutex);
    return next;
}

/* Check whether the thread, whose round is overdue, gets no processor. A single
 * late round does not show that: the clock may have jumped, or the whole
 * process may have been stopped. Hence several checks have to find the round
 * overdue, while other threads run, before the work is taken from the
 * thread. */
static void check_absent(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    pred_absence_t *absence = &pred->absence;
    int mode                = UCS_RCACHE_PRED_MODE_THREAD;
    ucs_rcache_pred_time_t last;

    /* Relaxed: it does no harm if concurrent checks count one too many */
    last = atomic_load_explicit(&absence->last_check, memory_order_relaxed);
    if (pred_elapsed(last, now) < ABSENT_INTERVAL) {
        return;
    }

    atomic_store_explicit(&absence->last_check, now, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&absence->checks, 1,
                                  memory_order_relaxed) < ABSENT_CHECKS) {
        return;
    }

    atomic_store(&absence->found, 1);
    if (atomic_compare_exchange_strong(&pred->handshake.mode, &mode,
                                       UCS_RCACHE_PRED_MODE_PROGRESS) &&
        !atomic_exchange(&absence->warned, 1)) {
        ucs_warn("the helper thread has found no processor for %d s: its work "
                 "is done while the program communicates", ABSENT_CHECKS);
    }
}

/* The helper thread may have been set aside in the middle of a round, by the
 * very threads that have now taken its work. They can do no round before it has
 * ended its own. */
static void let_round_end(ucs_rcache_pred_t *pred)
{
    if (atomic_load(&pred->absence.found)) {
        pred_give_way(pred);
    }
}

ucs_rcache_pred_time_t ucs_rcache_pred_due(ucs_rcache_pred_t *pred)
{
    /* Relaxed: only a hint; what there is to do is found out under the mutex */
    return atomic_load_explicit(&pred->handshake.due, memory_order_relaxed);
}

void ucs_rcache_pred_progress(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_time_t due = ucs_rcache_pred_due(pred);
    ucs_rcache_pred_time_t now;
    int mode;

    if (ucs_likely(due == UCS_RCACHE_PRED_TIME_INF)) {
        return;
    }

    now = pred_now(pred);
    if (ucs_likely(now < due)) {
        return;
    }

    if (atomic_load(&pred->handshake.mode) == UCS_RCACHE_PRED_MODE_THREAD) {
        check_absent(pred, now);
        return;
    }

    /* If the mutex is taken, a round is being done already, by another thread
     * or by this one further up its stack */
    if (pthread_mutex_trylock(&pred->helper_mutex) != 0) {
        let_round_end(pred);
        return;
    }

    pred_helper_round(pred, PROGRESS_STEPS);
    mode = atomic_load(&pred->handshake.mode);
    pthread_mutex_unlock(&pred->helper_mutex);
    if (mode == UCS_RCACHE_PRED_MODE_THREAD) {
        pred->ops.wake(pred->params.arg); /* This round has given the work to
                                             the thread */
    }
}
