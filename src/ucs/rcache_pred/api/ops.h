/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_OPS_H_
#define UCS_RCACHE_PRED_OPS_H_

#include "event.h"

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file ops.h
 *
 * The outside world of the cache, as one table of functions: the time, the
 * registration of memory, and the other processes of the node. Tests hand in a
 * fake clock and a fake registration, which makes every decision reproducible.
 */

/** A time in nanoseconds, of the clock that the user of the cache hands in. The
 *  clock should not go back; if it jumps, predictions fail until the cache has
 *  learned new ones. */
typedef uint64_t ucs_rcache_pred_time_t;

/** A point in time that never comes. */
#define UCS_RCACHE_PRED_TIME_INF UINT64_MAX


/** What share of the node's processors a process has, and what share its helper. */
typedef struct ucs_rcache_pred_seat {
    double                 idle;    /**< Part of a processor that the helper has
                                         for itself: 1 for a whole processor,
                                         less beside a busy sibling, 0 without a
                                         processor of its own */
    unsigned               sharers; /**< How many helpers the processor of this
                                         helper has if every process has one,
                                         with this helper itself */
    ucs_rcache_pred_time_t slice;   /**< How long each of these helpers runs at
                                         a time, ns */
    double                 share;   /**< Part of a processor that the process
                                         can have, more than 0, at most 1: the
                                         base of the budget */
} ucs_rcache_pred_seat_t;


/**
 * The functions from the cache to the outside world. All but @ref now and @ref wake may
 * block. The cache calls the blocking functions without any lock of @ref
 * ucs_rcache_pred_begin, @ref ucs_rcache_pred_end or @ref ucs_rcache_pred_unmapped.
 */
typedef struct ucs_rcache_pred_ops {
    /** Get the current time. Called on the critical path, by any thread. */
    ucs_rcache_pred_time_t (*now)(void *arg);

    /**
     * Sleep until the given time, or until somebody calls @ref wake. May return
     * early. Called by the helper thread only.
     */
    void                   (*wait)(void *arg, ucs_rcache_pred_time_t until);

    /** End the present call of @ref wait, or the next one if there is none at
     *  present. Called by any thread. */
    void                   (*wake)(void *arg);

    /**
     * Register memory. @a flags are those that the use has given; the cache
     * looks at the bits of access_mask only. Called by any thread, with the
     * argument of the domain. After UCS_ERR_NO_MEMORY the cache deregisters
     * idle regions and tries again. UCS_ERR_UNSUPPORTED means that the cache
     * shall not manage this memory.
     */
    ucs_status_t           (*mem_reg)(void *domain_arg, void *address,
                                      size_t length, unsigned flags,
                                      void **memh_p);

    /** Deregister memory that @ref mem_reg has registered. Called by any
     *  thread. */
    ucs_status_t           (*mem_dereg)(void *domain_arg, void *memh);

    /**
     * Called before and after each call of @ref mem_reg and @ref mem_dereg, by
     * the same thread and with the same argument. If a domain lets only one
     * thread in at a time, enter waits for the turn of this thread. The cache
     * measures the cost of a registration from after enter on, without the wait.
     * NULL: any number of threads may register at a time.
     */
    void                   (*enter)(void *domain_arg);
    void                   (*leave)(void *domain_arg);

    /**
     * Tell the other processes of the node how much memory this process has
     * registered lately, in bytes, and find its seat among them. Called from
     * time to time by the thread that does the helper's work. NULL: nothing is
     * known of other processes, and the work never goes from the helper thread to
     * the program because of them.
     */
    void                   (*seat)(void *arg, uint64_t demand,
                                   ucs_rcache_pred_seat_t *seat);

    /**
     * Let other threads run, since the caller waits for one of them. Called by
     * any thread. NULL: the caller calls sched_yield() instead; a caller of a
     * real-time class sleeps, and lends its priority to the helper.
     */
    void                   (*yield)(void *arg);

    /**
     * Show the statistics, which have changed, to other processes. Called after
     * steps that take long anyway, such as a round of the helper or a
     * registration by a use, but not after each hit. Called by any thread, and by
     * several at the same time; the function must not wait for another thread.
     * NULL: nobody shows the statistics.
     */
    void                   (*publish)(void *arg);

    /**
     * Find out how long the processes that share this one's memory have waited for
     * memory since the last call. Called four times a second by the thread that does
     * the helper's work, while memory is registered.
     *
     * @param [out] procs_p  How many processes give memory up, 1 or more.
     * @return the part of the time since the last call in which a process has waited; 0
     *         where nobody gains memory that is given up. NULL: memory is never short.
     */
    double                 (*waits)(void *arg, unsigned *procs_p);

    /** @return how many pages the calling thread has had to wait for so far, which were in
     *          swap. Called by any thread that registers memory, while memory is short; not
     *          NULL if @ref waits is not. */
    uint64_t               (*faults)(void *arg);

    /** Get the processor time of the calling thread, ns. Called by the helper
     *  thread, twice a round. NULL: the thread is assumed to run all the time. */
    ucs_rcache_pred_time_t (*busy)(void *arg);

    /** @return whether the last registration that @ref mem_reg has refused with
     *  UCS_ERR_NO_MEMORY may have lacked a key of the device: nothing else is known to
     *  have been short. Called by any thread, with the argument of the domain. NULL: it
     *  may always. */
    int                    (*may_lack_keys)(void *domain_arg);
} ucs_rcache_pred_ops_t;

END_C_DECLS

#endif
