/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_STATE_H_
#define UCS_RCACHE_PRED_STATE_H_

#include <ucs/base/mutex.h>
#include <ucs/base/wait.h>
#include <ucs/rcache_pred/predict/budget.h>
#include <ucs/rcache_pred/predict/policy.h>
#include <ucs/rcache_pred/predict/predict.h>
#include <ucs/rcache_pred/table/dq.h>
#include <ucs/rcache_pred/table/forgotten.h>
#include <ucs/rcache_pred/table/region.h>
#include <ucs/rcache_pred/table/victim.h>

#include <pthread.h>
#include <stdatomic.h>

/** @file state.h
 *
 * The state of a cache, and what follows from it alone. cache.h says which locks
 * protect it. "Under lock" means that the caller has the lock of the cache.
 */

/** See lanes.h. */
typedef struct pred_lanes pred_lanes_t;


/** The time stamp counters of two processors differ by less than this, ns. If
 *  the clock goes back by more, it has jumped. */
#define PRED_CLOCK_SLACK 1000000


struct ucs_rcache_pred_domain {
    ucs_rcache_pred_t      *pred;
    void                   *arg;
    char                   name[64];
    unsigned               number;     /**< Number in the order of creation,
                                            from 0 */
    ucs_list_link_t        list;       /**< Element of pred->domains */
    ucs_rcache_pred_cost_t reg_cost;   /**< Protected by pred->lock */
    ucs_rcache_pred_cost_t dereg_cost; /**< Protected by pred->lock */
    unsigned               releasing;  /**< Handles that were taken and are not
                                            yet deregistered. Protected by
                                            pred->lock */
    ucs_rcache_pred_limits_t limits;   /**< Constant once it is used */
    uint64_t               bytes_now;  /**< Sum of the lengths of its
                                            registrations. Protected by
                                            pred->lock, as the next one */
    uint64_t               regions_now;
};


/** The bounds of this process, and what is about to be registered or
 *  deregistered. What is registered is counted in the statistics. Protected by
 *  the lock. */
typedef struct pred_bound {
    uint64_t max_bytes;    /**< Bound on stats.bytes_now */
    unsigned releasing;    /**< Handles of all domains that were taken and are
                                not yet deregistered */
    _Atomic(uint64_t) releases; /**< How many times room was given back so far.
                                    Written under the lock; relaxed: whoever
                                    reads it without the lock only wants to
                                    know whether to ask for room again */
    unsigned ahead_now;    /**< Regions that the helper is registering now */
    unsigned pieces_now;   /**< Pieces that are registered, are about to be, or
                                are not yet deregistered */
    uint64_t taken_bytes;  /**< What uses have taken on the critical path since
                                the helper looked last, see helper/ahead.c */
    unsigned taken_regions; /**< Likewise, how many registrations */
    uint64_t held_bytes;   /**< Bytes in use of this process's reserve in
                                the bound of the node */
    unsigned held_regions; /**< Likewise, regions in use of
                                NODE_RESERVE_REGIONS */
} pred_bound_t;


/** So many ranges are deferred at most. If there are more, all memory counts as
 *  unmapped. */
#define PRED_MAX_DEFERRED 16

/** Ranges of memory that handlers of signals have unmapped while the thread
 *  that they came to had the lock, or was in its lane. Written by handlers in
 *  that thread, and read by whoever has the lock after it. */
typedef struct pred_deferred {
    ucs_rcache_pred_range_t ranges[PRED_MAX_DEFERRED];
    /** Whether a range was written. The handler sets it, with release, and
     *  whoever has read the range clears it: a handler may come to a thread that
     *  is in its lane, while another one has the lock */
    _Atomic(int)             is_set[PRED_MAX_DEFERRED];
} pred_deferred_t;


/** The integrals over time, of the registered bytes and of the processor time that
 *  the process could have had. Protected by the lock. */
typedef struct pred_integral {
    unsigned __int128      byte_ns; /**< Bytes times ns; 64 bits would be full
                                         after 17 s with 1 GiB */
    ucs_rcache_pred_time_t time;    /**< Until when the integral, stats.duration
                                         and stats.budget_time are counted; 0: there
                                         is no domain, and none of them grows */
    double                 share;   /**< Part of a processor that the process can
                                         have, as the last seat said */
} pred_integral_t;


/** How threads that end uses or unmap memory tell whoever does the helper's
 *  work that there is some. Every end of a use reads these atomics. */
typedef struct pred_handshake {
    /** Not 0: the helper sleeps until it is woken, or is about to. The helper
     *  sets it, under the lock, and whoever wakes the helper clears it.
     *  Sequentially consistent, together with stale: see pred_sleep() in
     *  helper/pace.c */
    _Atomic(int)      asleep;
    /** Not 0: there are stale regions for the helper to clear away. Uses and
     *  unmaps set it, the helper clears it. Sequentially consistent for the
     *  same reason as asleep */
    _Atomic(int)      stale;
    /** ucs_rcache_pred_mode_t, but never NONE: without a helper it has no
     *  meaning. Written under helper_mutex; only check_absent() in
     *  helper/poll.c writes it without the mutex, to take the work from the
     *  thread. Sequentially consistent, see pred_wake() */
    _Atomic(int)      mode;
    /** When the next round is due. Written at the end of a round, under
     *  helper_mutex, before asleep is set; whoever clears asleep sets it to 0.
     *  Relaxed, since nothing else is read by its value */
    _Atomic(uint64_t) due;
    /** When the last round began, by which others see that the clock went back.
     *  Written under helper_mutex. Relaxed, as due */
    _Atomic(uint64_t) last;
} pred_handshake_t;


/** Whether the helper thread gets to its work. Only helper/poll.c and the
 *  rounds of the helper use these atomics. */
typedef struct pred_absence {
    /** Not 0: the thread did not get to its work for long, and has not been
     *  seen since. check_absent() sets it, the thread clears it. Sequentially
     *  consistent */
    _Atomic(int)      found;
    /** How often the thread's round was found overdue, and when it was found so
     *  last. Any thread writes these two, and each round clears the number.
     *  Relaxed, since the number need not be exact */
    _Atomic(unsigned) checks;
    _Atomic(uint64_t) last_check;
    _Atomic(int)      warned; /**< Not 0: a warning has told the user. Set
                                  once */
} pred_absence_t;


/** A region at which a later round goes on. */
typedef struct pred_hand {
    uintptr_t                start;      /**< Where the region started; the region
                                              may be gone. 0: the first region */
    ucs_rcache_pred_region_t *region;    /**< One of those that start there, as
                                              buffers do that two domains use */
    uint64_t                 generation; /**< Of the region, see region.h */
} pred_hand_t;


/** The state of the helper's rounds. Protected by helper_mutex. */
typedef struct pred_rounds {
    ucs_rcache_pred_timeq_t rq;       /**< The registration queue, ordered by
                                           deadline */
    ucs_rcache_pred_timeq_t awaited;  /**< The awaited list: registered regions
                                           whose use is awaited, ordered by when
                                           to stop waiting for it */
    ucs_rcache_pred_times_t times;    /**< dq_item, rq_item and wakeup are
                                           measured, share comes from the last
                                           seat; the others are not used */
    ucs_rcache_pred_time_t  outside;  /**< How much time the helper has spent
                                           in mem_reg and mem_dereg so far,
                                           about regions that it decides on */
    ucs_rcache_pred_time_t  outside_begin; /**< The same at the begin of this
                                           round */
    ucs_rcache_pred_time_t  outside_step;  /**< The same at the begin of this
                                           step */
    ucs_rcache_pred_time_t  busy_begin;  /**< Processor time at the begin of
                                           this round */
    ucs_rcache_pred_time_t  merge_after; /**< Before this time no regions are
                                              merged, see helper/merge.c */
    ucs_rcache_pred_time_t  quiet_until; /**< Before this time there is no
                                           budget for entries of the DQ */
    ucs_rcache_pred_time_t  looked;   /**< When the last round ended that could look
                                           at them */
    ucs_rcache_pred_time_t  pause;    /**< By how much the last round that paid by
                                           pausing has put quiet_until off, ns */
    unsigned                backoff;  /**< How many times as long as the budget
                                           asks for that pause was, since rounds
                                           were in vain; from 1 */
    int                     found;    /**< Whether this round has decided on a
                                           region that there was time to give
                                           up */
    ucs_rcache_pred_time_t  reaped;   /**< When stale regions were last found; 0:
                                           never */
    ucs_rcache_pred_time_t  pressed;  /**< Until this time the budget does not
                                           matter, since room had to be made for
                                           other processes or was refused by the
                                           system */
    uint64_t                made_room;   /**< How often that was so, when last
                                           looked */
    ucs_rcache_pred_time_t  full;     /**< Until this time a bound of this process
                                           counts as full, since room had to be
                                           made within it */
    uint64_t                evictions;   /**< How often that was so, when last
                                           looked */
    uint64_t                room_bytes;   /**< How much room uses are expected to
                                           take from one round to the next */
    unsigned                room_regions; /**< Likewise, how many registrations */
    int                     is_trial; /**< Whether it is tried if uses can be
                                           predicted, see spend.c */
    int                     has_lost; /**< Whether the DQ had lost entries of regions
                                           when this round last looked into it */
    unsigned                precedents; /**< How many are to be added to
                                             stats.precedents */
    unsigned                errors[UCS_RCACHE_PRED_ERROR_CLASSES];
                                      /**< Likewise, to stats.prediction_errors */
    unsigned                foretold; /**< Of FORETOLD_ALL uses that have ended, after
                                           how many the next one was predicted: the
                                           last ones count most, see spend.c */
    double                  idle;     /**< Part of its processor that nobody but the
                                           helper needs, as the last seat said */
    ucs_rcache_pred_budget_t budget;
    ucs_rcache_pred_time_t  last;     /**< When the last round began */
    ucs_rcache_pred_time_t  fed;      /**< When the last round began that has
                                           taken an entry out of the DQ: rounds
                                           without one do not tell whether what
                                           comes in is urgent */
    ucs_rcache_pred_time_t  last_entry; /**< When an entry was last taken out of
                                           the DQ */
    ucs_rcache_pred_time_t  next;     /**< When the next round shall begin, as
                                           the last round has decided */
    ucs_rcache_pred_time_t  urgent;   /**< Until this time uses are expected to
                                           end whose regions will then be
                                           deregistered; the DQ is looked at
                                           more often until then */
    ucs_rcache_pred_time_t  poll_interval; /**< How long to wait from one look
                                           at the DQ to the next, until the time
                                           in urgent */
    pred_hand_t             gc_hand; /**< Where the hand of the clock is that
                                          forgets regions */
    pred_hand_t             check_hand; /**< Where the check of the invariants of
                                             extents is, in a debug build */
    unsigned                gc_steps; /**< Steps that were taken so far while
                                           newcomers passed by, see cleanup.c;
                                           wraps around */
} pred_rounds_t;


/** The place of this process among those of the node. Protected by
 *  helper_mutex. */
typedef struct pred_seat {
    unsigned               votes;  /**< How many seats in a row have asked for
                                        the thread while the program does the
                                        work */
    ucs_rcache_pred_time_t first;  /**< When it was first asked for; 0: never */
    ucs_rcache_pred_time_t time;   /**< When the seat was last asked for; 0:
                                        never, or ask at once */
    unsigned               late;   /**< How many sleeps of the helper in a row have
                                        ended late */
    uint64_t               demand; /**< Bytes of the regions that were used
                                        lately: what would be registered if
                                        nothing were ever deregistered */
    uint64_t               epoch_demand; /**< Bytes of the regions that were
                                              used in this epoch */
    uint32_t               epoch;  /**< Number of the present epoch, from 1. An
                                        epoch is the time between two seats */
} pred_seat_t;


struct ucs_rcache_pred {
    /* Constant after creation, except that the policy may become on-demand
     * before the first domain is created. Every use reads these */
    ucs_rcache_pred_params_t    params;
    ucs_rcache_pred_ops_t       ops;

    /* Protected by the lock. What a hit touches comes first: the heads of the
     * table's buckets, and the counters of uses and hits */
    _Atomic(uintptr_t)           lock UCS_V_ALIGNED(64); /**< pred_self() of the
                                                             thread that has it;
                                                             0: none has. Only
                                                             the functions below
                                                             and lock.c use
                                                             it */
    /** How many ranges were deferred, of which deferred has the first ones. A
     *  handler in the thread that has the lock adds to it, and whoever has the
     *  lock next sets it to 0. Relaxed for a thread that has the lock just now;
     *  deferred.c says what else */
    _Atomic(unsigned)            num_deferred;
    /** NULL: there are none yet. Written once, under the lock, with release */
    _Atomic(pred_lanes_t*)      lanes;
    /** Which thread has begun the last use under the lock, pred_self(), and how
     *  often it was another one than the time before */
    struct {
        uintptr_t thread;
        uint64_t  count;
    }                           turns;
    ucs_rcache_pred_table_t     table;
    ucs_rcache_pred_forgotten_t forgotten;
    ucs_rcache_pred_stats_t     stats;
    pred_integral_t             integral;
    ucs_rcache_pred_time_t      lost;     /**< Time that uses have lost against
                                               leave-pinned since the last round
                                               of the helper, ns: they waited
                                               for other threads' registrations,
                                               or registered what leave-pinned
                                               would have kept */
    pred_bound_t                bound;
    unsigned                    num_guarded; /**< Regions that are guarded */
    ucs_rcache_pred_dq_t        dq;
    pred_deferred_t             deferred;

    /* Atomics, which need no lock */
    pred_handshake_t            handshake UCS_V_ALIGNED(64);
    pred_absence_t              absence;

    /* Protected by helper_mutex */
    ucs_mutex_t                 helper_mutex UCS_V_ALIGNED(64);
    ucs_list_link_t             domains;
    unsigned                    num_domains; /**< Number of domains that were
                                                  created so far */
    ucs_rcache_pred_predictor_t predictor;
    pred_rounds_t               rounds;
    pred_seat_t                 seat;
};


/** A handle that mem_reg has returned and that its region does not have yet, or
 *  that was taken from its region to be deregistered. */
typedef struct pred_handle {
    ucs_rcache_pred_domain_t *domain;
    void                     *memh;    /**< NULL: there is no handle */
    ucs_rcache_pred_range_t  range;
    uint64_t                 id;       /**< Generation of the region; 0: the
                                            memory is a piece */
    int                      held;     /**< Not 0: its room is part of what the
                                            node holds for this process */
    int                      offered;  /**< Not 0: its room was offered to other
                                            processes of the node */
} pred_handle_t;


/** @return the present time of the cache's clock. */
static inline ucs_rcache_pred_time_t pred_now(const ucs_rcache_pred_t *pred)
{
    return pred->ops.now(pred->params.arg);
}

/** @return the time from begin to end. It is 0 if the end seems to be earlier,
 *          which happens when the counters of two processors differ. */
static inline ucs_rcache_pred_time_t
pred_elapsed(ucs_rcache_pred_time_t begin, ucs_rcache_pred_time_t end)
{
    return (end > begin) ? (end - begin) : 0;
}

/** @return whether a round is due. It is as well if the clock went back since the
 *          last one: when the next one is due was said in times that are yet to
 *          come. Any thread. */
static inline int
pred_is_due(const ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    const pred_handshake_t *handshake = &pred->handshake;

    /* Relaxed: only a hint; what there is to do is found out under the mutex */
    return (now >= atomic_load_explicit(&handshake->due,
                                        memory_order_relaxed)) ||
           (now + PRED_CLOCK_SLACK <
            atomic_load_explicit(&handshake->last, memory_order_relaxed));
}

/** @return whether the policy in force is on-demand. */
static inline int pred_is_on_demand(const ucs_rcache_pred_t *pred)
{
    return pred->params.policy == UCS_RCACHE_PRED_POLICY_ON_DEMAND;
}

/** @return the number of pages that a range touches. */
static inline size_t
pred_pages(const ucs_rcache_pred_t *pred, const ucs_rcache_pred_range_t *range)
{
    return ucs_rcache_pred_pages(range->start, ucs_rcache_pred_range_length(range),
                                 pred->params.page_size);
}

/** @return how many bytes a registration of the range pins: whole pages. */
static inline uint64_t
pred_page_bytes(const ucs_rcache_pred_t *pred, const ucs_rcache_pred_range_t *range)
{
    return pred_pages(pred, range) * pred->params.page_size;
}

/** Let other processes see the statistics as they are now. Without the lock. */
static inline void pred_publish(const ucs_rcache_pred_t *pred)
{
    if (pred->ops.publish != NULL) {
        pred->ops.publish(pred->params.arg);
    }
}

/** Tell the helper that there are stale regions, which it has to clear away
 *  once their uses have ended. Any thread; wait-free. */
static inline void pred_note_stale(ucs_rcache_pred_t *pred)
{
    /* Sequentially consistent, see pred_sleep() in helper/pace.c */
    atomic_store(&pred->handshake.stale, 1);
}

/** Wake the helper if it sleeps until it is woken. Any thread; wait-free. */
static inline void pred_wake(ucs_rcache_pred_t *pred)
{
    pred_handshake_t *handshake = &pred->handshake;

    /* Sequentially consistent: this load comes after the caller has taken the
     * lock and pushed an entry, or after it has set stale, which the helper has
     * to see. See pred_sleep() in helper/pace.c */
    if (ucs_likely(!atomic_load(&handshake->asleep)) ||
        !atomic_exchange(&handshake->asleep, 0)) {
        return;
    }

    /* Relaxed: nothing else is read by its value. It replaces the time that was
     * stored before asleep was set. */
    atomic_store_explicit(&handshake->due, 0, memory_order_relaxed);
    /* The mode was written before asleep was set. If it has changed since then,
     * either whoever gave the work to the thread wakes it, or it is woken here
     * for nothing. */
    if (atomic_load(&handshake->mode) == UCS_RCACHE_PRED_MODE_THREAD) {
        pred->ops.wake(pred->params.arg);
    }
}

/** @return whether an entry of the DQ is still about its region, and the region is not
 *          stale. Under the lock. */
static inline int
pred_entry_is_current(const ucs_rcache_pred_dq_entry_t *entry)
{
    return (entry->region->generation == entry->generation) &&
           !entry->region->extent.stale;
}

/** @return the region that an element of a queue belongs to. */
static inline ucs_rcache_pred_region_t *
pred_queue_region(ucs_rcache_pred_timeq_elem_t *elem)
{
    return ucs_container_of(elem, ucs_rcache_pred_region_t, queue_elem);
}

/** @return whether a use of the region has begun of which the helper has not
 *          learned yet. Under lock. */
static inline int pred_region_has_news(const ucs_rcache_pred_region_t *region)
{
    return region->begin > region->learned;
}

/** @return whether a region is in use or being registered, or its last use is
 *          still in the DQ: the helper decides about it later. Under lock. */
static inline int pred_region_is_busy(const ucs_rcache_pred_region_t *region)
{
    return (region->refs > 0) || (region->in_pieces > 0) ||
           (region->extent.state == UCS_RCACHE_PRED_EXTENT_REGISTERING) ||
           pred_region_has_news(region);
}

/** @return whether a use of a region has been under way for longer than a period, ns,
 *          as that of a buffer which waits for whatever message comes. Under lock. */
static inline int
pred_region_is_occupied(const ucs_rcache_pred_region_t *region,
                        ucs_rcache_pred_time_t period,
                        ucs_rcache_pred_time_t now)
{
    return (region->refs > 0) && (pred_elapsed(region->begin, now) > period);
}

/** @return whether an attempt to register memory, or the claim of a region for
 *          it, has failed for another reason than lack of room: as long as the
 *          program has the memory as it is, it will fail again. */
static inline int pred_is_unfit(ucs_status_t status)
{
    return UCS_STATUS_IS_ERR(status) && (status != UCS_ERR_NO_MEMORY) &&
           (status != UCS_ERR_NO_RESOURCE) &&
           (status != UCS_ERR_EXCEEDS_LIMIT) &&
           (status != UCS_ERR_UNSUPPORTED);
}

/** @return what has to be registered for an extent, without a handle yet. It
 *          does not change while the region is REGISTERING. */
static inline pred_handle_t
pred_extent_handle(const ucs_rcache_pred_extent_t *extent)
{
    return (pred_handle_t){
        .domain = extent->domain,
        .range  = extent->range,
        .id     = ucs_rcache_pred_region_of(extent)->generation
    };
}

/** Guard a registered extent, if it is not. Under lock.
 *  @param [in] pages  How many of its pages have lost a right. */
static inline void
pred_guard(ucs_rcache_pred_t *pred, ucs_rcache_pred_extent_t *extent,
           uint64_t pages)
{
    if (!extent->guarded) {
        extent->guarded    = 1;
        extent->ahead      = 0;
        extent->unwritable = pages;
        ++ucs_rcache_pred_region_of(extent)->refs;
        ++pred->num_guarded;
    }
}

/** An extent has just been registered, and its first use has begun if it was for one:
 *  guard it, if it has lost a right meanwhile. Under lock. */
static inline void
pred_guard_overtaken(ucs_rcache_pred_t *pred, ucs_rcache_pred_extent_t *extent)
{
    if (ucs_unlikely(extent->overtaken)) {
        extent->overtaken = 0;
        pred_guard(pred, extent, pred_pages(pred, &extent->range));
    }
}

/** Guard an extent no longer, if it is. If no use is under way then, the caller makes it
 *  stale, takes its handle, or has the helper decide about it. Under lock. */
static inline void
pred_unguard(ucs_rcache_pred_t *pred, ucs_rcache_pred_extent_t *extent)
{
    ucs_rcache_pred_region_t *region = ucs_rcache_pred_region_of(extent);

    if (extent->guarded) {
        extent->guarded = 0;
        --region->refs;
        --pred->num_guarded;
        ucs_rcache_pred_region_note(&pred->table.noted, region);
    }
}

/** An attempt to register a claimed extent has failed. If the memory was refused though
 *  there was room, and that of an earlier use would have served, the next registration is
 *  guarded from the end of its first use on, since it may be refused again. Under lock. */
static inline void pred_guard_failed(const ucs_rcache_pred_t *pred,
                                     ucs_rcache_pred_extent_t *extent,
                                     ucs_status_t status)
{
    extent->frail |= (ucs_rcache_pred_region_of(extent)->begin > 0) &&
                     pred_is_unfit(status) && !pred_is_on_demand(pred);
}

#endif
