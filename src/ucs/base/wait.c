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

/* A real-time thread looks after so many ns whether what it waits for has
 * happened. A registration takes about as long. */
#define LOOK_INTERVAL 50000


/* Whether this thread belongs to a class whose threads are not set aside for
 * those of the usual one */
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

    /* A thread may be cancelled in the function of the C library, and then
     * whoever waits for this thread would wait for ever */
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
    errno = saved_errno;
}

/* Lend the priority of this thread to the one that has a mutex, for a short time.
 * @return 0 if no other thread has it. */
static int lend_priority(pthread_mutex_t *mutex)
{
    struct timespec until;
    int ret;

    /* The only clock that every kernel with such mutexes takes. Should it be
     * set back, this thread sleeps until the mutex is unlocked */
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
        /* Another thread than the holder is waited for */
        ucs_sleep_shortly();
    }

    errno = saved_errno;
}
