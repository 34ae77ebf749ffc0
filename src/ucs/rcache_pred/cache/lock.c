/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "lanes.h"

#include <ucs/rcache_pred/api/free.h>

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * How a thread waits for another one: for the lock, for a registration that is
 * under way, or for room that is being given back. Most often the other one is
 * the helper, whose scheduling class is the usual one (SCHED_BATCH), while
 * ranks may belong to a real-time class. A real-time thread that spins, or
 * calls sched_yield(), keeps the helper from the processor that they share: it
 * would wait for ever. It has to sleep; and if a third thread has a priority
 * between the two, the helper must inherit that of the sleeper (sched(7),
 * futex(2) "Priority-inheritance futexes").
 *
 * helper_mutex serves for that: whoever does a round of the helper's work holds
 * it, and it has the protocol PTHREAD_PRIO_INHERIT. A thread that tries to lock
 * it lends its priority to whoever does the round, whatever that one has at the
 * moment: the lock of the cache, or a registration under way. The lock of the
 * cache is not such a mutex itself, since that would cost 20 ns more for each
 * pair of lock and unlock, and a use needs two pairs.
 */


/* A thread that found the lock taken, or a lane, looks so many times before it lets others
 * run, which takes some 30 us (AMD EPYC). The lock is held for less, unless the
 * thread that has it was set aside. */
#define LOCK_SPINS 1000

/* After it has let others run so many times, it sleeps each time. Whoever lends
 * this thread a real-time priority by helper_mutex, the thread does not know of
 * it: what it waits for may be a thread without that priority, which no
 * sched_yield() of this one lets run. */
#define LOCK_YIELDS 16

/* A real-time thread looks after so many ns whether what it waits for has
 * happened. A registration takes about as long. */
#define LOOK_INTERVAL 50000

#define NSEC_PER_SEC  1000000000l


ucs_status_t pred_helper_mutex_init(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attr;
    int ret;

    if (pthread_mutexattr_init(&attr) != 0) {
        return UCS_ERR_NO_RESOURCE;
    }

    /* A thread that does a round may wait for a registration of another thread:
     * it must not wait for itself */
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
    ret = pthread_mutex_init(mutex, &attr);
    if (ret == ENOTSUP) { /* The system knows no such mutexes */
        pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_NONE);
        ret = pthread_mutex_init(mutex, &attr);
    }

    pthread_mutexattr_destroy(&attr);
    return (ret == 0) ? UCS_OK : UCS_ERR_NO_RESOURCE;
}

/* Whether this thread belongs to a class whose threads are not set aside for
 * those of the usual one */
static int is_realtime(void)
{
    int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

    return (policy == SCHED_FIFO) || (policy == SCHED_RR) ||
           (policy == SCHED_DEADLINE);
}

/* Sleep by a system call, since a thread may be cancelled in the function of
 * the C library, and then the use would never end */
static void sleep_shortly(void)
{
    const struct timespec ts = { .tv_nsec = LOOK_INTERVAL };

    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
}

/* Lend the priority of this thread to the one that does a round now, for a
 * short time. @return 0 if no other thread does. */
static int lend_priority(pthread_mutex_t *mutex)
{
    struct timespec until;
    int ret;

    /* The only clock that every kernel with such mutexes takes. Should it be
     * set back, this thread sleeps until the end of the round */
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_INTERVAL;
    if (until.tv_nsec >= NSEC_PER_SEC) {
        until.tv_nsec -= NSEC_PER_SEC;
        ++until.tv_sec;
    }

    ret = pthread_mutex_timedlock(mutex, &until);
    if (ret == 0) {
        pthread_mutex_unlock(mutex);
    }

    return ret == ETIMEDOUT;
}

void pred_give_way(ucs_rcache_pred_t *pred)
{
    int saved_errno = errno;

    if (!is_realtime()) {
        sched_yield();
    } else if (!lend_priority(&pred->helper_mutex)) {
        /* Another thread of the program is waited for */
        sleep_shortly();
    }

    errno = saved_errno;
}

/* Tell the processor that this thread spins */
static inline void spin_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

void pred_spin(ucs_rcache_pred_t *pred, unsigned *spins)
{
    int saved_errno = errno;

    if (*spins >= LOCK_SPINS * LOCK_YIELDS) {
        sleep_shortly();
        errno = saved_errno;
    } else if (++*spins % LOCK_SPINS == 0) {
        pred_give_way(pred);
    } else {
        spin_relax();
    }
}

void pred_lane_wait(ucs_rcache_pred_t *pred)
{
    unsigned spins = 0;

    /* Relaxed: entering the lane, or taking the lock, orders what follows */
    while (atomic_load_explicit(&pred->lock, memory_order_relaxed)) {
        pred_spin(pred, &spins);
    }
}

void pred_lock_wait(ucs_rcache_pred_t *pred)
{
    do {
        pred_lane_wait(pred);
    } while (!pred_lock_try(pred));
}

void pred_spin_while_busy(ucs_rcache_pred_t *pred, _Atomic int *busy)
{
    unsigned spins = 0;

    while (atomic_load(busy)) {
        pred_spin(pred, &spins);
    }
}

static uint64_t monotonic_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ((uint64_t)ts.tv_sec * NSEC_PER_SEC) + ts.tv_nsec;
}

/* @return whether a thread is in a lane, or has the lock, which comes after the
 *         last lane. Relaxed: nothing is read that either protects. */
static int is_taken(ucs_rcache_pred_t *pred, const pred_lanes_t *lanes,
                    unsigned number)
{
    if (number == PRED_LANES) {
        return atomic_load_explicit(&pred->lock, memory_order_relaxed) != 0;
    }

    return (lanes != NULL) &&
           atomic_load_explicit(&lanes->lanes[number].busy,
                                memory_order_relaxed);
}

int ucs_rcache_pred_is_free(ucs_rcache_pred_t *pred, uint64_t patience)
{
    uint64_t start      = monotonic_ns();
    /* Acquire: pairs with the release in pred_lane_take() */
    pred_lanes_t *lanes = atomic_load_explicit(&pred->lanes,
                                               memory_order_acquire);
    unsigned i;

    /* Not all at the same time: that each was free once shows that whoever has
     * it next gives it back as well */
    for (i = 0; i <= PRED_LANES; ++i) {
        while (is_taken(pred, lanes, i)) {
            if (monotonic_ns() - start >= patience) {
                return 0;
            }
            pred_give_way(pred);
        }
    }

    return 1;
}
