/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper.h"

#include <ucs/debug/log_def.h>

/*
 * Where the helper's thread and the program come in to do the helper's work.
 * Either way it is rounds of helper.c, one at a time.
 *
 * The thread is there in both modes, but for HELPER_PROGRESS: without the work
 * it sleeps until it is given it (back).
 */

/* What a round of the thread does at most, of each queue: others may be waiting
 * for helper_mutex */
#define THREAD_STEPS    1024

/* What a round on the program's time does at most, of each queue. It is bounded
 * by number, not by time: no registration can be given up half-way. */
#define PROGRESS_STEPS  2

/* The thread is given up when, so many times, at least so long apart, its work
 * was found overdue and not begun: the program's threads have a higher priority
 * and leave it no processor */
#define ABSENT_CHECKS   5
#define ABSENT_INTERVAL 1000000000


ucs_rcache_pred_time_t ucs_rcache_pred_poll(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_time_t next = UCS_RCACHE_PRED_TIME_INF;

    if (pred_is_on_demand(pred)) {
        return next;
    }

    if (atomic_load(&pred->handshake.mode) == UCS_RCACHE_PRED_MODE_PROGRESS) {
        atomic_store(&pred->absence.found, 0); /* It can be given the work again */
        return next;
    }

    pthread_mutex_lock(&pred->helper_mutex);
    next = pred_helper_round(pred, THREAD_STEPS);
    if (atomic_load(&pred->handshake.mode) == UCS_RCACHE_PRED_MODE_PROGRESS) {
        next = UCS_RCACHE_PRED_TIME_INF; /* It was the last one */
    }
    pthread_mutex_unlock(&pred->helper_mutex);
    return next;
}

/* The thread should have begun a round by now, and is late. It need not be the
 * thread's fault: the clock may have jumped, or the process stood still. Hence
 * it is given time to come while others run, before its work is taken away. */
static void check_absent(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    pred_absence_t *absence = &pred->absence;
    int mode                = UCS_RCACHE_PRED_MODE_THREAD;
    ucs_rcache_pred_time_t last;

    /* Relaxed: concurrent checks may count one more */
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

void ucs_rcache_pred_progress(ucs_rcache_pred_t *pred)
{
    /* Relaxed: a time. What there is to do is found under the mutex. */
    ucs_rcache_pred_time_t due = atomic_load_explicit(&pred->handshake.due,
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

    if (atomic_load(&pred->handshake.mode) == UCS_RCACHE_PRED_MODE_THREAD) {
        check_absent(pred, now);
        return;
    }

    /* Somebody is at it: another thread, or this one further up its stack */
    if (pthread_mutex_trylock(&pred->helper_mutex) != 0) {
        return;
    }

    pred_helper_round(pred, PROGRESS_STEPS);
    mode = atomic_load(&pred->handshake.mode);
    pthread_mutex_unlock(&pred->helper_mutex);
    if (mode == UCS_RCACHE_PRED_MODE_THREAD) {
        pred->ops.wake(pred->params.arg); /* The work is its own from now on */
    }
}
