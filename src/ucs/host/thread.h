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

BEGIN_C_DECLS

/** @file thread.h
 *
 * A helper thread, which does its work whenever that is due, and sleeps in
 * between. Also a clock and a sleep for the table of functions of a cache that
 * runs in real time. Uses the cache's public header; the core of uct/ib/predreg
 * calls it.
 *
 * Threads: now, wait, wake, slice and cpu_time may be called by any thread; the
 * others by one at a time.
 */

typedef struct ucs_rcache_pred_thread ucs_rcache_pred_thread_t;


/** Create what the thread needs, but not the thread. It is the arg of the three
 *  functions below, so that it has to be created before the cache.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t ucs_rcache_pred_thread_create(ucs_rcache_pred_thread_t **thread_p);

/** The thread must have been stopped. */
void ucs_rcache_pred_thread_destroy(ucs_rcache_pred_thread_t *thread);

/**
 * @return the time since an arbitrary instant, ns: by the processor's time
 *         stamp counter where it runs at a constant rate and the kernel's clock
 *         uses it, otherwise by CLOCK_MONOTONIC. The rates of the two differ by
 *         some 1e-4, so that a time of this clock must not be handed to the
 *         system.
 */
ucs_rcache_pred_time_t ucs_rcache_pred_thread_now(void *arg);

/** @return the processor time of the calling thread, ns, whatever the
 *          argument. */
ucs_rcache_pred_time_t ucs_rcache_pred_thread_busy(void *arg);

/** Sleep until a time of this clock (@a until, or UCS_RCACHE_PRED_TIME_INF for
 *  ever), or until woken. May return early, after 10 s for one. */
void ucs_rcache_pred_thread_wait(void *arg, ucs_rcache_pred_time_t until);

/** End the present sleep, or the next one if nobody sleeps. Wait-free, and safe
 *  in a memory hook. */
void ucs_rcache_pred_thread_wake(void *arg);


/** The work of a thread. @return when it is to be called next: a time of this
 *  clock, which may have passed, or UCS_RCACHE_PRED_TIME_INF: when it is
 *  woken. */
typedef ucs_rcache_pred_time_t (*ucs_rcache_pred_work_t)(void *arg);

/**
 * Start the thread, unless it is running. All signals are blocked in it, so that
 * no handler of the program ever runs there.
 *
 * @param [in] name       Shown by the system, at most 15 characters.
 * @param [in] work, arg  What it does, at first and whenever that is due or the
 *                        thread is woken.
 *
 * @return UCS_ERR_NO_RESOURCE if the system has no room for a thread.
 */
ucs_status_t ucs_rcache_pred_thread_start(ucs_rcache_pred_thread_t *thread,
                                          const char *name,
                                          ucs_rcache_pred_work_t work,
                                          void *arg);

/**
 * Stop the thread and wait until it has ended. Does nothing if it is not
 * running.
 *
 * @param [in] patience  Wait so long at most, ns.
 *
 * @return UCS_ERR_TIMED_OUT if it has not ended by then. It ends as soon as it
 *         can, and may be waited for again.
 */
ucs_status_t ucs_rcache_pred_thread_stop(ucs_rcache_pred_thread_t *thread,
                                         uint64_t patience);

/**
 * Keep the thread on these processors from now on. Has to be called by the
 * thread itself, which it is within a poll; does nothing in another one. If the
 * system refuses, the thread stays where it is.
 */
void ucs_rcache_pred_thread_pin(ucs_rcache_pred_thread_t *thread,
                                const cpu_set_t *cpus);

/**
 * @return how long the scheduler lets the thread run before another one that
 *         waits for the processor, ns: what the system says, or 4 ms if it does
 *         not.
 */
ucs_rcache_pred_time_t
ucs_rcache_pred_thread_slice(ucs_rcache_pred_thread_t *thread);

/** @return the processor time that the thread has used so far, ns. While it
 *          runs, others are told the time at the end of its last poll. */
ucs_rcache_pred_time_t
ucs_rcache_pred_thread_cpu_time(ucs_rcache_pred_thread_t *thread);

END_C_DECLS

#endif
