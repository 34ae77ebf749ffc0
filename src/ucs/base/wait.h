/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_WAIT_H_
#define UCS_WAIT_H_

#include "mutex.h"

BEGIN_C_DECLS

/** @file wait.h
 *
 * How a thread waits, without a lock, for an act of another thread: the end of a
 * registration, the release of memory, the leaving of a list. Most often the other
 * thread is a helper, which the kernel schedules as a usual thread (SCHED_BATCH),
 * while the program's threads may be of a real-time class. A real-time thread that
 * spins, or calls sched_yield(), keeps the helper from their common processor, and
 * would wait for ever. The thread has to sleep; and if a third thread has a priority
 * between the two, the helper must inherit the priority of the sleeper (sched(7),
 * futex(2) "Priority-inheritance futexes").
 *
 * A mutex of UCS_MUTEX_LENDS serves for inheritance. The helper holds the mutex
 * during its work, so that a thread which tries to lock the mutex lends its
 * priority to the helper, whatever the helper does at the moment.
 */

/**
 * Let other threads run, since this thread waits for one of them. A thread of the
 * usual class yields; a real-time thread sleeps for some 50 us at most, and lends
 * its priority to the owner of a mutex. To be called again and again until the wait
 * is over. Leaves errno unchanged. May be called in memory hooks and in
 * handlers of signals, whatever locks this thread has, the mutex included.
 *
 * @param [in] holder  Mutex of UCS_MUTEX_LENDS that the other thread may have;
 *                     NULL: there is none, and the priority is not lent.
 */
void ucs_give_way(ucs_mutex_t *holder);

/** Sleep for some 50 us. A thread cannot be cancelled meanwhile. Leaves errno
 *  unchanged. */
void ucs_sleep_shortly(void);

END_C_DECLS

#endif
