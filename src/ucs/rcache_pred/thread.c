/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h" /* _GNU_SOURCE: sem_clockwait, pthread_setname_np */
#endif

#include "thread.h"

#include <ucs/debug/log_def.h>

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#define NSEC_PER_SEC 1000000000ul

/* The kernel may delay a sleep by so much to save wake-ups; its default of
 * 50 us would be spent ahead of every registration */
#define TIMER_SLACK_NSEC 1000ul


struct ucs_rcache_pred_thread {
    ucs_rcache_pred_t *pred;
    pthread_t         thread;
    int               running;   /* By start and stop */
    sem_t             wakeups;
    _Atomic int       stop;      /* Set by stop, read by the thread; relaxed:
                                    the semaphore orders it */
    _Atomic uint64_t  cpu_time;  /* Written by the thread; relaxed, a number */
};


static ucs_rcache_pred_time_t clock_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

ucs_rcache_pred_time_t ucs_rcache_pred_thread_now(void *arg)
{
    return clock_ns(CLOCK_MONOTONIC);
}

void ucs_rcache_pred_thread_wait(void *arg, ucs_rcache_pred_time_t until)
{
    ucs_rcache_pred_thread_t *thread = arg;
    struct timespec ts;

    if (until == UCS_RCACHE_PRED_TIME_INF) {
        sem_wait(&thread->wakeups);
        return;
    }

    ts.tv_sec  = until / NSEC_PER_SEC;
    ts.tv_nsec = until % NSEC_PER_SEC;
    sem_clockwait(&thread->wakeups, CLOCK_MONOTONIC, &ts);
}

void ucs_rcache_pred_thread_wake(void *arg)
{
    ucs_rcache_pred_thread_t *thread = arg;

    sem_post(&thread->wakeups);
}

ucs_status_t ucs_rcache_pred_thread_create(ucs_rcache_pred_thread_t **thread_p)
{
    ucs_rcache_pred_thread_t *thread;

    thread = calloc(1, sizeof(*thread));
    if (thread == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    sem_init(&thread->wakeups, 0, 0);
    *thread_p = thread;
    return UCS_OK;
}

void ucs_rcache_pred_thread_destroy(ucs_rcache_pred_thread_t *thread)
{
    sem_destroy(&thread->wakeups);
    free(thread);
}

static void *thread_func(void *arg)
{
    ucs_rcache_pred_thread_t *thread = arg;
    ucs_rcache_pred_time_t until;

    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NSEC, 0, 0, 0);
    while (!atomic_load_explicit(&thread->stop, memory_order_relaxed)) {
        until = ucs_rcache_pred_poll(thread->pred);
        atomic_store_explicit(&thread->cpu_time,
                              clock_ns(CLOCK_THREAD_CPUTIME_ID),
                              memory_order_relaxed);
        ucs_rcache_pred_thread_wait(thread, until);
    }

    return NULL;
}

ucs_status_t ucs_rcache_pred_thread_start(ucs_rcache_pred_thread_t *thread,
                                          ucs_rcache_pred_t *pred)
{
    sigset_t all, old;
    int ret;

    if (thread->running) {
        return UCS_OK;
    }

    thread->pred = pred;
    atomic_store_explicit(&thread->stop, 0, memory_order_relaxed);

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    ret = pthread_create(&thread->thread, NULL, thread_func, thread);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (ret != 0) {
        ucs_diag("failed to create the helper thread: %s", strerror(ret));
        return UCS_ERR_NO_RESOURCE;
    }

    pthread_setname_np(thread->thread, "predreg");
    thread->running = 1;
    return UCS_OK;
}

void ucs_rcache_pred_thread_stop(ucs_rcache_pred_thread_t *thread)
{
    if (!thread->running) {
        return;
    }

    atomic_store_explicit(&thread->stop, 1, memory_order_relaxed);
    ucs_rcache_pred_thread_wake(thread);
    pthread_join(thread->thread, NULL);
    thread->running = 0;
}

ucs_rcache_pred_time_t
ucs_rcache_pred_thread_cpu_time(ucs_rcache_pred_thread_t *thread)
{
    return atomic_load_explicit(&thread->cpu_time, memory_order_relaxed);
}
