/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "clock.h"
#include "wait.h"

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How long a real-time thread sleeps before it looks again, ns: about as long as a
 * registration takes. */
#define LOOK_INTERVAL 50000


/* @return whether this thread is of a real-time class: the kernel never lets a
 * thread of the usual class run in its place */
static int is_realtime(void)
{
    int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

    return (policy == SCHED_FIFO) || (policy == SCHED_RR) ||
           (policy == SCHED_DEADLINE);
}

void ucs_sleep_shortly(void)
{
    const struct timespec ts = {.tv_nsec = LOOK_INTERVAL};

    int saved_errno          = errno;

    /* Not nanosleep(): the function is a point of cancellation, and if this
     * thread were cancelled, other threads that wait for it would wait for ever */
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
    errno = saved_errno;
}

/* Lend the priority of this thread to the owner of a mutex, for a short time.
 * @return 0 if no other thread has the mutex now; else the time is over. */
static int lend_priority(pthread_mutex_t *mutex)
{
    struct timespec until;
    int ret;

    /* The kernel accepts only this clock for mutexes that lend priorities.
     * Should somebody set the clock back, this thread sleeps until the mutex is
     * unlocked */
    until = ucs_clock_timespec(ucs_clock_ns(CLOCK_REALTIME) + LOOK_INTERVAL);

    ret = pthread_mutex_timedlock(mutex, &until);
    if (ret == 0) {
        pthread_mutex_unlock(mutex);
    }

    return ret == ETIMEDOUT;
}

void ucs_give_way(ucs_mutex_t *holder)
{
    int saved_errno = errno;

    if (!is_realtime()) {
        sched_yield();
    } else if ((holder == NULL) || !lend_priority(&holder->mutex)) {
        /* This thread waits for another thread than the owner of the mutex */
        ucs_sleep_shortly();
    }

    errno = saved_errno;
}
