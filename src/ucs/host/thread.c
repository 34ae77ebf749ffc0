/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "thread.h"

#include <ucs/base/clock.h>
#include <ucs/base/hook.h>
#include <ucs/base/number.h>
#include <ucs/base/relaxed.h>
#include <ucs/debug/log_def.h>
#include <ucs/sys/compiler_def.h>
#include <ucs/sys/math.h>

#if defined(__x86_64__)
#  include <cpuid.h>
#  include <x86intrin.h>
#endif

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>


/* The kernel may end a sleep up to this many ns late, in order to save wake-ups.
 * With its default of 50 us the helper would have to wake 50 us earlier for each
 * registration. */
#define TIMER_SLACK_NSEC 1000ul

/* How long a thread runs at a time if the scheduler does not tell: a tick of
 * the 250 Hz that Debian and Ubuntu have chosen */
#define SLICE_NSEC       4000000ul

/* Longest sleep that ends by itself. One clock tells the time and another one
 * measures the sleep; should one of them jump, nothing sleeps much longer. */
#define WAIT_MAX_NSEC    (10 * UCS_NSEC_PER_SEC)


struct ucs_rcache_pred_thread {
    ucs_rcache_pred_work_t work; /* Constant while the thread runs, as arg */
    void                   *arg;
    pthread_t              thread;
    int                    running;  /* Written by start and stop */
    sem_t                  own_wakeups;
    sem_t                  *wakeups; /* own_wakeups, or what others wake the thread by.
                                        Written before the thread runs */
    _Atomic(int)           stop;     /* Written by start and stop, read by the
                                        thread. Relaxed: stop wakes the thread
                                        afterwards, and the semaphore orders the
                                        store */
    _Atomic(pid_t)         tid;      /* Written by the thread; 0 when there is
                                        none. Relaxed: a number */
    cpu_set_t              cpus;     /* Processors to which the thread has pinned
                                        itself last. Only the thread uses the
                                        field */
    _Atomic(uint64_t)      cpu_time; /* Written by the thread; relaxed, a
                                        number */
};

/* With a fraction of 32 bits the rate has 9 digits. Its product with the counter needs
 * 128 bits. */
#define TSC_SHIFT 32

/* ns a tick of the counter, times 2^TSC_SHIFT; 0: the counter is not used. All threads of
 * the process, and forked children, have the same clock, which is measured once: before
 * the first state of a thread exists */
static uint64_t tsc_mult;
static pthread_once_t tsc_once = PTHREAD_ONCE_INIT;


#if defined(__x86_64__)

/* How long the counter is measured against the system's clock, ns */
#define TSC_MEASURE_NSEC 1000000ul

/* Whether the counter runs at one rate whatever the processor's frequency and
 * sleep state: CPUID 0x80000007, bit 8 of edx (Intel SDM 18.17.4) */
static int tsc_is_invariant(void)
{
    unsigned eax, ebx, ecx, edx;

    return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) && (edx & (1u << 8));
}

/* Whether the kernel trusts the counters of all processors to agree: its own
 * clock uses them, directly or as a guest of KVM. */
static int tsc_is_trusted(void)
{
    char name[32];

    return (ucs_scan_file("", "/sys/devices/system/clocksource/clocksource0/"
                          "current_clocksource", "%31s", name) == 1) &&
           (!strcmp(name, "tsc") || !strcmp(name, "kvm-clock"));
}

/* Read the counter and the clock at the same instant, as nearly as possible: of
 * several attempts, the one in which reading the clock took least time
 * counts. */
static uint64_t tsc_at(uint64_t *time_p)
{
    uint64_t best = UINT64_MAX, tsc = 0, before, after, t;
    unsigned i;

    for (i = 0; i < 8; ++i) {
        before = __rdtsc();
        t      = ucs_monotonic_ns();
        after  = __rdtsc();
        if (after - before < best) {
            best    = after - before;
            tsc     = before + (after - before) / 2;
            *time_p = t;
        }
    }

    return tsc;
}

static void tsc_measure(void)
{
    uint64_t begin = 0, end = 0;
    uint64_t begin_tsc, end_tsc;

    if (!tsc_is_invariant() || !tsc_is_trusted()) {
        return;
    }

    begin_tsc = tsc_at(&begin);
    while (ucs_monotonic_ns() - begin < TSC_MEASURE_NSEC) {
    }
    end_tsc = tsc_at(&end);
    tsc_mult = ((unsigned __int128)(end - begin) << TSC_SHIFT) / (end_tsc - begin_tsc);
}

static UCS_F_ALWAYS_INLINE uint64_t tsc_now(void)
{
    return ((unsigned __int128)__rdtsc() * tsc_mult) >> TSC_SHIFT;
}

#else

static void tsc_measure(void)
{
}

static uint64_t tsc_now(void)
{
    return 0;
}

#endif

ucs_rcache_pred_time_t ucs_rcache_pred_thread_now(void *arg)
{
    return ucs_likely(tsc_mult != 0) ? tsc_now() : ucs_monotonic_ns();
}

ucs_rcache_pred_time_t ucs_rcache_pred_thread_busy(void *arg)
{
    return ucs_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void ucs_rcache_pred_thread_wait(void *arg, ucs_rcache_pred_time_t until)
{
    ucs_rcache_pred_thread_t *thread = arg;
    ucs_rcache_pred_time_t now;
    struct timespec ts;

    if (until == UCS_RCACHE_PRED_TIME_INF) {
        sem_wait(thread->wakeups);
        return;
    }

    now = ucs_rcache_pred_thread_now(thread);
    if (until <= now) {
        return;
    }

    ts = ucs_clock_timespec(ucs_monotonic_ns() +
                            ucs_min(until - now, WAIT_MAX_NSEC));
    sem_clockwait(thread->wakeups, CLOCK_MONOTONIC, &ts);
}

void ucs_rcache_pred_thread_wake(void *arg)
{
    ucs_rcache_pred_thread_t *thread = arg;

    sem_post(thread->wakeups);
}

ucs_status_t ucs_rcache_pred_thread_create(ucs_rcache_pred_thread_t **thread_p)
{
    ucs_rcache_pred_thread_t *thread;

    thread = calloc(1, sizeof(*thread));
    if (thread == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    sem_init(&thread->own_wakeups, 0, 0);
    thread->wakeups = &thread->own_wakeups;
    pthread_once(&tsc_once, tsc_measure);
    *thread_p = thread;
    return UCS_OK;
}

void ucs_rcache_pred_thread_share(ucs_rcache_pred_thread_t *thread, sem_t *wakeups)
{
    if (!thread->running) {
        thread->wakeups = wakeups;
    }
}

void ucs_rcache_pred_thread_destroy(ucs_rcache_pred_thread_t *thread)
{
    sem_destroy(&thread->own_wakeups);
    free(thread);
}

/*
 * Keep the helper out of the program's way on a common processor: a waking batch
 * thread does not preempt the running thread, but waits for the next tick or until
 * the processor is idle. Its weight (nice value) stays the usual one: a lighter
 * helper might be set aside for long with a lock that the program needs. On an idle
 * processor nothing changes.
 */
static void thread_set_manners(void)
{
    struct sched_param param = { .sched_priority = 0 };

    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NSEC, 0, 0, 0);
    if (sched_setscheduler(0, SCHED_BATCH, &param) != 0) {
        ucs_debug("the helper thread stays in its scheduling class: %s",
                  strerror(errno));
    }
}

static pid_t thread_self(void)
{
    return syscall(SYS_gettid); /* glibc has gettid() since 2.30 */
}

static void *thread_func(void *arg)
{
    ucs_rcache_pred_thread_t *thread = arg;
    ucs_rcache_pred_time_t until;

    CPU_ZERO(&thread->cpus);
    ucs_relaxed_store(&thread->tid, thread_self());
    thread_set_manners();
    while (!ucs_relaxed_load(&thread->stop)) {
        until = thread->work(thread->arg);
        ucs_relaxed_store(&thread->cpu_time, ucs_clock_ns(CLOCK_THREAD_CPUTIME_ID));
        ucs_rcache_pred_thread_wait(thread, until);
    }

    /* Before the end of the thread: the system may give its number to another
     * thread next */
    ucs_relaxed_store(&thread->tid, 0);
    return NULL;
}

ucs_status_t ucs_rcache_pred_thread_start(ucs_rcache_pred_thread_t *thread,
                                          const char *name,
                                          ucs_rcache_pred_work_t work,
                                          void *arg)
{
    int ret;

    if (thread->running) {
        return UCS_OK;
    }

    thread->work = work;
    thread->arg  = arg;
    ucs_relaxed_store(&thread->stop, 0);

    /* The new thread inherits the blocked signals, so no handler of the program runs in
     * the thread */
    ucs_hook_enter();
    ret = pthread_create(&thread->thread, NULL, thread_func, thread);
    ucs_hook_leave();
    if (ret != 0) {
        ucs_diag("failed to create the thread %s: %s", name, strerror(ret));
        return UCS_ERR_NO_RESOURCE;
    }

    pthread_setname_np(thread->thread, name);
    thread->running = 1;
    return UCS_OK;
}

/* The thread sanitizer takes a thread joined by the monotonic clock for one without
 * a join: the sanitizer does not know the function */
#ifdef __SANITIZE_THREAD__
#  define JOIN_CLOCK CLOCK_REALTIME
#  define THREAD_JOIN(_thread, _until) \
    pthread_timedjoin_np(_thread, NULL, _until)
#else
#  define JOIN_CLOCK CLOCK_MONOTONIC
#  define THREAD_JOIN(_thread, _until) \
    pthread_clockjoin_np(_thread, NULL, JOIN_CLOCK, _until)
#endif

ucs_status_t ucs_rcache_pred_thread_stop(ucs_rcache_pred_thread_t *thread,
                                         uint64_t patience)
{
    struct timespec until;

    if (!thread->running) {
        return UCS_OK;
    }

    ucs_relaxed_store(&thread->stop, 1);
    ucs_rcache_pred_thread_wake(thread);

    until = ucs_clock_timespec(ucs_clock_ns(JOIN_CLOCK) + patience);
    if (THREAD_JOIN(thread->thread, &until) != 0) {
        return UCS_ERR_TIMED_OUT;
    }

    thread->running = 0;
    return UCS_OK;
}

void ucs_rcache_pred_thread_pin(ucs_rcache_pred_thread_t *thread,
                                const cpu_set_t *cpus)
{
    /* Relaxed: the thread has written its own number itself */
    if ((ucs_relaxed_load(&thread->tid) != thread_self()) ||
        CPU_EQUAL(&thread->cpus, cpus)) {
        return;
    }

    /* Noted even if the system refuses to move the thread, since each further
     * call would ask again */
    thread->cpus = *cpus;
    if (sched_setaffinity(0, sizeof(*cpus), cpus) != 0) {
        ucs_debug("the helper thread stays where it is: %s", strerror(errno));
    }
}

ucs_rcache_pred_time_t
ucs_rcache_pred_thread_slice(ucs_rcache_pred_thread_t *thread)
{
    /* Relaxed: a number. If it is 0 (no thread runs), the system tells the slice of the
     * calling thread, which is equally long. */
    pid_t tid = ucs_relaxed_load(&thread->tid);
    struct timespec ts;

    /* The system tells 0 for real-time threads of the FIFO class and for
     * threads of the idle class */
    if ((sched_rr_get_interval(tid, &ts) != 0) ||
        ((ts.tv_sec == 0) && (ts.tv_nsec == 0))) {
        return SLICE_NSEC;
    }

    return ts.tv_sec * UCS_NSEC_PER_SEC + ts.tv_nsec;
}

ucs_rcache_pred_time_t
ucs_rcache_pred_thread_cpu_time(ucs_rcache_pred_thread_t *thread)
{
    /* Relaxed: see ucs_rcache_pred_thread_pin() */
    if (ucs_relaxed_load(&thread->tid) == thread_self()) {
        /* The thread itself asks. cpu_time is older: it is of the end of the last call of
         * the work */
        return ucs_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    }

    return ucs_relaxed_load(&thread->cpu_time);
}
