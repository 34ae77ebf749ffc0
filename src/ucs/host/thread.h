/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_THREAD_H_
#define UCS_RCACHE_PRED_THREAD_H_

#include <ucs/rcache_pred/api/rcache_pred.h>

#include <sched.h>

/** @file thread.h
 *
 * The helper thread: polls the cache when it asks for it, and sleeps in
 * between. Also the clock and the sleep it uses, for whoever fills in the
 * table of functions of a cache that lives in real time.
 */

typedef struct ucs_rcache_pred_thread ucs_rcache_pred_thread_t;


/** Must be created before the cache: it is the arg of the three below. */
ucs_status_t ucs_rcache_pred_thread_create(ucs_rcache_pred_thread_t **thread_p);

/** The thread must not be running. */
void ucs_rcache_pred_thread_destroy(ucs_rcache_pred_thread_t *thread);

/**
 * Time of an arbitrary beginning, ns: the processor's time stamp counter where
 * it runs at a constant rate and the kernel's clock uses it, else
 * CLOCK_MONOTONIC. Rates differ by some 1e-4
 * of each other, hence a time of this clock means nothing to the system.
 */
ucs_rcache_pred_time_t ucs_rcache_pred_thread_now(void *arg);

/** Sleep until a time of this clock; ends early when woken. */
void ucs_rcache_pred_thread_wait(void *arg, ucs_rcache_pred_time_t until);

/** Wait-free, and safe in a memory hook. */
void ucs_rcache_pred_thread_wake(void *arg);


/**
 * Start polling, if it is not running. All signals are blocked in the thread,
 * so that the program's handlers never run in it, and nobody but the program's
 * end ends it.
 *
 * @return UCS_ERR_NO_RESOURCE if the system has no room for a thread.
 */
ucs_status_t ucs_rcache_pred_thread_start(ucs_rcache_pred_thread_t *thread,
                                          ucs_rcache_pred_t *pred);

/** Stop polling and wait until the thread is gone. No-op if not running. */
void ucs_rcache_pred_thread_stop(ucs_rcache_pred_thread_t *thread);

/**
 * Run on these processors from now on. Called by the thread itself, in a round;
 * does nothing in any other. If the system refuses, the thread stays where it
 * is.
 */
void ucs_rcache_pred_thread_pin(ucs_rcache_pred_thread_t *thread,
                                const cpu_set_t *cpus);

/**
 * How long a thread like this runs at a time where others want to run, ns: what
 * the scheduler says, else 4 ms.
 */
ucs_rcache_pred_time_t
ucs_rcache_pred_thread_slice(ucs_rcache_pred_thread_t *thread);

/** CPU time the thread has used, ns; also after it stopped. */
ucs_rcache_pred_time_t
ucs_rcache_pred_thread_cpu_time(ucs_rcache_pred_thread_t *thread);

#endif
