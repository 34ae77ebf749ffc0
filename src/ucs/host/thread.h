/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_THREAD_H_
#define UCS_RCACHE_PRED_THREAD_H_

#include <ucs/rcache_pred/api/rcache_pred.h>

#include <ucs/sys/compiler_def.h>

#include <sched.h>
#include <semaphore.h>

BEGIN_C_DECLS

/** @file thread.h
 *
 * A thread that works when work is due, and sleeps in between: the helper of
 * the cache, the helper of the arena, and the recorder of a trace. A cache that
 * runs in real time has the clock and the sleep in its table of operations
 * (ops.h). Uses the cache's public header; the core of uct/ib/predreg and
 * src/trace call these functions.
 *
 * Threads: now, wait, wake, slice and cpu_time may be called by any thread; the
 * others by one at a time.
 */

typedef struct ucs_rcache_pred_thread ucs_rcache_pred_thread_t;


/** Create the state of a thread, but not the thread itself. The state is the
 *  argument of the sleep, and so exists before the cache. The first call in a process
 *  measures the clock, which takes 1 ms. @return UCS_ERR_NO_MEMORY. */
ucs_status_t ucs_rcache_pred_thread_create(ucs_rcache_pred_thread_t **thread_p);

/** Let other processes wake the thread as well, by a semaphore that lasts as long as the
 *  thread. Does nothing if the thread is running. */
void ucs_rcache_pred_thread_share(ucs_rcache_pred_thread_t *thread, sem_t *wakeups);

/** Free the state of a thread, which must have been stopped. */
void ucs_rcache_pred_thread_destroy(ucs_rcache_pred_thread_t *thread);

/**
 * @return the time since an arbitrary instant, ns, whatever the argument, once the process
 *         has created the state of a thread: by the processor's time stamp
 *         counter where its rate is constant and the kernel's clock uses it,
 *         otherwise by CLOCK_MONOTONIC. The rates of the two differ by some
 *         1e-4, so a time of this clock must not be handed to system calls.
 */
ucs_rcache_pred_time_t ucs_rcache_pred_thread_now(void *arg);

/** @return the processor time of the calling thread, ns, whatever the
 *          argument. */
ucs_rcache_pred_time_t ucs_rcache_pred_thread_busy(void *arg);

/** Sleep until @a until, a time of ucs_rcache_pred_thread_now(), or until woken;
 *  with UCS_RCACHE_PRED_TIME_INF only until woken. May return early: a sleep with
 *  an end lasts 10 s at most. */
void ucs_rcache_pred_thread_wait(void *arg, ucs_rcache_pred_time_t until);

/** End the present sleep of the thread, or its next one if the thread does not
 *  sleep. Wait-free, and safe in a memory hook. */
void ucs_rcache_pred_thread_wake(void *arg);


/** The work of a thread. @return when the thread is to call the function next: a
 *  time of ucs_rcache_pred_thread_now(), possibly in the past;
 *  UCS_RCACHE_PRED_TIME_INF: not before the thread is woken. */
typedef ucs_rcache_pred_time_t (*ucs_rcache_pred_work_t)(void *arg);

/**
 * Start the thread, unless it is running. All signals are blocked in the thread, so
 * no handler of the program ever runs there.
 *
 * @param [in] name       Shown by the system, at most 15 characters.
 * @param [in] work, arg  Called at first, when due and when the thread is woken.
 *
 * @return UCS_ERR_NO_RESOURCE if the system has no room for a thread.
 */
ucs_status_t ucs_rcache_pred_thread_start(ucs_rcache_pred_thread_t *thread,
                                          const char *name,
                                          ucs_rcache_pred_work_t work,
                                          void *arg);

/**
 * Stop the thread and wait for its end. Does nothing if the thread is not running.
 *
 * @param [in] patience  Longest wait, ns.
 *
 * @return UCS_ERR_TIMED_OUT if the thread has not ended by then. It ends as soon as
 *         possible, and may be waited for again.
 */
ucs_status_t ucs_rcache_pred_thread_stop(ucs_rcache_pred_thread_t *thread,
                                         uint64_t patience);

/**
 * Keep the thread on some processors from now on. To be called by the thread
 * itself, during its work; does nothing in another thread. If the system
 * refuses, the thread stays on its processors.
 */
void ucs_rcache_pred_thread_pin(ucs_rcache_pred_thread_t *thread,
                                const cpu_set_t *cpus);

/**
 * @return how long the scheduler lets the thread run while another thread waits
 *         for the processor, ns; 4 ms if the system does not tell.
 */
ucs_rcache_pred_time_t
ucs_rcache_pred_thread_slice(ucs_rcache_pred_thread_t *thread);

/** @return the processor time of the thread so far, ns. While the thread works,
 *  other threads get the time at the end of its previous turn. */
ucs_rcache_pred_time_t
ucs_rcache_pred_thread_cpu_time(ucs_rcache_pred_thread_t *thread);

END_C_DECLS

#endif
