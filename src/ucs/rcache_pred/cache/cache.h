/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_CACHE_H_
#define UCS_RCACHE_PRED_CACHE_H_

#include "dq.h"
#include "region.h"

#include <ucs/rcache_pred/predict/cost.h>
#include <ucs/rcache_pred/predict/policy.h>
#include <ucs/rcache_pred/predict/predict.h>

#include <ucs/type/spinlock.h>

#include <pthread.h>
#include <sched.h>

/** @file cache.h
 *
 * The folder cache/: what any thread does with registered memory. Begin and end
 * of use (use.c, end.c), uses in pieces (pieces.c), unmap and invalidation (unmap.c),
 * registration (register.c), what may be registered (bound.c) and what gives
 * way to it (evict.c), and the regions (region.c). It may use api/ and
 * predict/; the helper and the files on top call it, and it calls neither. This
 * header is the state of a cache, which the folders share.
 *
 * Locks, in the order they are taken:
 *
 *   helper_mutex  One round of the helper, or whoever stands in for it. Held
 *                 across registrations. Never waited for by a use or an unmap:
 *                 the end of a use may do a round, if nobody else does.
 *   lock          The table, the regions and the counters. Held by a use for
 *                 some tens of instructions, by a new region for a memmove, and
 *                 by evictions, unmaps and sweeps for a pass over the regions
 *                 they ask about. Nothing is allocated, released, logged or
 *                 registered under it, hence no memory hook runs under it and
 *                 the unmap hook may take it. Not held across fork.
 */


struct ucs_rcache_pred_domain {
    ucs_rcache_pred_t      *pred;
    void                   *arg;
    char                   name[64];
    unsigned               number;     /**< In the order of creation */
    ucs_list_link_t        list;       /**< In pred->domains */
    ucs_rcache_pred_cost_t reg_cost;   /**< Under pred->lock */
    ucs_rcache_pred_cost_t dereg_cost; /**< Under pred->lock */
    unsigned               releasing;  /**< Under pred->lock: handles taken that
                                            are not yet deregistered */
};


/** The bound, and who is on the way in or out; what is registered is in the
 *  statistics. All of it under lock. */
typedef struct pred_bound {
    uint64_t max_bytes;    /**< Bound on stats.bytes_now */
    unsigned releasing;    /**< Handles taken, in all domains, that are not yet
                                deregistered */
    uint64_t releases;     /**< How often room was given back */
    unsigned ahead_now;    /**< Regions the helper is just registering */
    unsigned pieces_now;   /**< Pieces registered, about to be, or not yet
                                deregistered */
    uint64_t held_bytes;   /**< Of NODE_RESERVE, in use */
    unsigned held_regions; /**< Of NODE_RESERVE_REGIONS, in use */
} pred_bound_t;


/** The integral of the registered bytes over time. Under lock. */
typedef struct pred_integral {
    unsigned __int128      byte_ns; /**< 64 bits hold 17 s of 1 GiB */
    ucs_rcache_pred_time_t time;    /**< The integral and stats.duration are
                                         valid up to here; 0: there is no
                                         domain, and time stands still */
} pred_integral_t;


/** How those who end uses and unmap memory meet whoever does the helper's work.
 *  Atomics, read by every end of a use. */
typedef struct pred_handshake {
    /** The helper is about to sleep until it is woken. Set by the helper,
     *  cleared by whoever wakes it; sequentially consistent with dq.head and
     *  stale, see pred_sleep() in helper/pace.c */
    _Atomic int      asleep;
    /** There are stale regions for the helper to clear away. Set by uses and
     *  unmaps, cleared by the helper; sequentially consistent, likewise */
    _Atomic int      stale;
    /** ucs_rcache_pred_mode_t, as if there were no policy without. Written
     *  under helper_mutex, but for check_absent() in helper/poll.c, which takes
     *  the work from the thread without the mutex. Sequentially consistent, see
     *  pred_wake() */
    _Atomic int      mode;
    /** When the next round is due. Written at the end of a round, under
     *  helper_mutex, before asleep is set; set to 0 by whoever clears asleep.
     *  Relaxed: a time */
    _Atomic uint64_t due;
} pred_handshake_t;


/** Whether the helper thread comes to do its work. Atomics, of helper/poll.c */
typedef struct pred_absence {
    /** The thread has not come for long and has not been seen since. Set by
     *  check_absent(), cleared by the thread; sequentially consistent */
    _Atomic int      found;
    /** How often the thread's round was found overdue, and when last. Written
     *  by any thread, the number cleared by rounds; relaxed, since it may be
     *  off by some */
    _Atomic unsigned checks;
    _Atomic uint64_t last_check;
    _Atomic int      warned; /**< The user was told. Set once */
} pred_absence_t;


/** The helper's rounds. Under helper_mutex. */
typedef struct pred_rounds {
    ucs_list_link_t         rq;       /**< Registration queue, ordered by
                                           deadline */
    ucs_list_link_t         awaited;  /**< Regions kept or registered ahead,
                                           ordered by when to stop waiting for
                                           their use */
    ucs_rcache_pred_times_t times;    /**< dq_item, rq_item, wakeup: as
                                           measured; share: of the last seat */
    ucs_rcache_pred_time_t  outside;  /**< Time of this step spent in mem_reg
                                           and mem_dereg */
    ucs_rcache_pred_time_t  last;     /**< When the last round began */
    ucs_rcache_pred_time_t  last_entry; /**< When an entry was last taken off the
                                           DQ */
    ucs_rcache_pred_time_t  next;     /**< When the next one is to begin, as the
                                           last one said */
    ucs_rcache_pred_time_t  urgent;   /**< Until then, ends of uses of regions
                                           that are given up in between are
                                           expected */
    ucs_rcache_pred_time_t  poll_interval; /**< Until then, time between looks
                                           at the DQ */
    uint64_t                dropped_seen; /**< dq.dropped at the last sweep */
    unsigned                gc_hand;  /**< Of the clock that forgets regions */
} pred_rounds_t;


/** This process among those of the node. Under helper_mutex. */
typedef struct pred_seat {
    unsigned               votes;  /**< Seats in a row that asked for the other
                                        mode */
    ucs_rcache_pred_time_t time;   /**< Of the last seat; 0: there was none */
    uint64_t               demand; /**< Bytes of the regions used of late: what
                                        would be registered if nothing was ever
                                        deregistered */
    uint64_t               epoch_demand; /**< Likewise, in this epoch */
    uint32_t               epoch;  /**< The time between two seats, by number;
                                        from 1 */
} pred_seat_t;


struct ucs_rcache_pred {
    /* Constant after creation, but that the policy may become on-demand before
     * the first domain is created. Looked at by every use */
    ucs_rcache_pred_params_t    params;
    ucs_rcache_pred_ops_t       ops;

    /* Under lock. What a hit touches comes first: the heads of the table's
     * buckets, and the counters of uses and hits */
    ucs_spinlock_t              lock UCS_V_ALIGNED(64);
    ucs_rcache_pred_table_t     table;
    ucs_rcache_pred_stats_t     stats;
    pred_integral_t             integral;
    pred_bound_t                bound;

    /* Lock-free */
    ucs_rcache_pred_dq_t        dq;
    pred_handshake_t            handshake UCS_V_ALIGNED(64);
    pred_absence_t              absence;

    /* Under helper_mutex */
    pthread_mutex_t             helper_mutex UCS_V_ALIGNED(64);
    ucs_list_link_t             domains;
    unsigned                    num_domains; /**< Ever created */
    ucs_rcache_pred_predictor_t predictor;
    pred_rounds_t               rounds;
    pred_seat_t                 seat;
};


static inline ucs_rcache_pred_time_t pred_now(const ucs_rcache_pred_t *pred)
{
    return pred->ops.now(pred->params.arg);
}

/** Time from begin to end; 0 if a processor's counter is behind another's. */
static inline ucs_rcache_pred_time_t
pred_elapsed(ucs_rcache_pred_time_t begin, ucs_rcache_pred_time_t end)
{
    return (end > begin) ? (end - begin) : 0;
}

static inline int pred_is_on_demand(const ucs_rcache_pred_t *pred)
{
    return pred->params.policy == UCS_RCACHE_PRED_POLICY_ON_DEMAND;
}

/** Let others get on, of whom this thread waits for something. Without the
 *  lock. */
static inline void pred_yield(const ucs_rcache_pred_t *pred)
{
    if (pred->ops.yield != NULL) {
        pred->ops.yield(pred->params.arg);
    } else {
        sched_yield();
    }
}

/** Let others see the statistics as they are now. Without the lock. */
static inline void pred_publish(const ucs_rcache_pred_t *pred)
{
    if (pred->ops.publish != NULL) {
        pred->ops.publish(pred->params.arg);
    }
}

/** There are stale regions: the helper is to clear them away, once their uses
 *  have ended. Any thread; wait-free. */
static inline void pred_note_stale(ucs_rcache_pred_t *pred)
{
    /* Sequentially consistent, see pred_sleep() in helper/pace.c */
    atomic_store(&pred->handshake.stale, 1);
}

/** Wake the helper if it sleeps until woken. Any thread; wait-free. */
static inline void pred_wake(ucs_rcache_pred_t *pred)
{
    pred_handshake_t *handshake = &pred->handshake;

    /* Sequentially consistent: comes after the push, or the setting of stale,
     * that the helper is to see; see pred_sleep() in helper/pace.c */
    if (ucs_likely(!atomic_load(&handshake->asleep)) ||
        !atomic_exchange(&handshake->asleep, 0)) {
        return;
    }

    /* Relaxed: a time. It replaces the one that was stored before asleep. */
    atomic_store_explicit(&handshake->due, 0, memory_order_relaxed);
    /* The mode was written before asleep was set. If it has changed since, the
     * thread is woken by who gave it the work, or wakes for nothing. */
    if (atomic_load(&handshake->mode) == UCS_RCACHE_PRED_MODE_THREAD) {
        pred->ops.wake(pred->params.arg);
    }
}

#endif
