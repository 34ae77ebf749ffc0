/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_STATE_H_
#define UCS_RCACHE_PRED_STATE_H_

#include <ucs/base/mutex.h>
#include <ucs/base/relaxed.h>
#include <ucs/base/wait.h>
#include <ucs/rcache_pred/predict/budget.h>
#include <ucs/rcache_pred/predict/policy.h>
#include <ucs/rcache_pred/predict/predict.h>
#include <ucs/rcache_pred/table/dq.h>
#include <ucs/rcache_pred/table/forgotten.h>
#include <ucs/rcache_pred/table/region.h>
#include <ucs/rcache_pred/table/victim.h>

#include <pthread.h>

/** @file state.h
 *
 * The state of a cache, and functions that need nothing but this state. cache.h says
 * which locks protect the state. "Under lock" means that the caller has the lock of the
 * cache, pred->lock.
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
    ucs_rcache_pred_limits_t limits;   /**< Constant from the first use in the
                                            domain on */
    uint64_t               bytes_now;  /**< Sum of the lengths of the domain's
                                            registrations. Protected by
                                            pred->lock */
    uint64_t               regions_now; /**< How many registrations the domain
                                             has. Protected by pred->lock */
};


/** See pred_bound_t::foretold. */
#define PRED_FORETOLD_ALL 1024


/** The bounds of this process, and counts of memory that is about to be registered or
 *  deregistered. The statistics count registered memory. Protected by the lock. */
typedef struct pred_bound {
    uint64_t max_bytes;    /**< Bound on stats.bytes_now */
    unsigned releasing;    /**< Handles of all domains that were taken and are
                                not yet deregistered */
    _Atomic(uint64_t) releases; /**< How many times room was given back so far.
                                    Written under the lock; relaxed: a reader
                                    without the lock only wants to know whether
                                    to ask for room again */
    unsigned ahead_now;    /**< Regions that the helper is registering now */
    unsigned pieces_now;   /**< Pieces that are registered, or are not yet
                                deregistered */
    uint64_t taken_bytes;  /**< Bytes of the registrations that uses have made
                                since the helper last read this number, see
                                helper/ahead.c */
    unsigned taken_regions; /**< How many registrations these are */
    uint64_t held_bytes;   /**< How many bytes pieces have taken out of the
                                reserve that the node holds for this process */
    unsigned held_regions; /**< How many of NODE_RESERVE_REGIONS regions pieces
                                have taken out of that reserve */
    unsigned foretold;     /**< Of PRED_FORETOLD_ALL regions that have given way, of how
                                many the next use was predicted. The last ones count
                                most, see register.c */
} pred_bound_t;


/** The most ranges that can be deferred. If handlers unmap more, all memory
 *  counts as unmapped. */
#define PRED_MAX_DEFERRED 16

/** Ranges of memory that handlers of signals have unmapped while the interrupted
 *  thread had the lock, or was in its lane. The handlers write the ranges, and
 *  the next thread that takes the lock reads them. */
typedef struct pred_deferred {
    ucs_rcache_pred_range_t ranges[PRED_MAX_DEFERRED];
    /** Whether a range was written. The handler sets the flag, with release, and
     *  the thread that has read the range clears it. The flag is atomic, since a
     *  handler may interrupt a thread in its lane while another thread has the
     *  lock */
    _Atomic(int)             is_set[PRED_MAX_DEFERRED];
} pred_deferred_t;


/** The integrals over time, of the registered bytes and of the processor time that
 *  the process could have had. Protected by the lock. */
typedef struct pred_integral {
    unsigned __int128      byte_ns; /**< Bytes times ns; 64 bits would be full
                                         after 17 s with 1 GiB */
    ucs_rcache_pred_time_t time;    /**< Up to what time byte_ns, stats.duration
                                         and stats.budget_time are counted; 0: there
                                         is no domain, and the three do not grow */
    double                 share;   /**< Part of a processor that the process can
                                         have, as the last seat said */
} pred_integral_t;


/** By these atomics, threads that end uses or unmap memory tell the thread that
 *  does the helper's work that there is work. Every end of a use reads them. */
typedef struct pred_handshake {
    /** Not 0: the helper sleeps until it is woken, or is about to. The helper
     *  sets it, under the lock; the thread that wakes the helper clears it, and
     *  so does the helper itself when a round begins. Sequentially consistent,
     *  together with stale: see pred_sleep() in helper/pace.c */
    _Atomic(int)      asleep;
    /** Not 0: there are stale regions for the helper to clear away. Uses and
     *  unmaps set it, the helper clears it. Sequentially consistent for the
     *  same reason as asleep */
    _Atomic(int)      stale;
    /** ucs_rcache_pred_mode_t, but never NONE: without a helper nobody may act
     *  on the mode. Written under helper_mutex, except by check_absent() in
     *  helper/poll.c, which takes the work from a helper thread that may hold
     *  helper_mutex. Sequentially consistent, see pred_wake() */
    _Atomic(int)      mode;
    /** When the next round is due. The helper writes it at the end of a round,
     *  under helper_mutex, before it sets asleep; a thread that wakes the helper
     *  sets it to 0. Relaxed, since no other data depends on its value */
    _Atomic(uint64_t) due;
    /** When the last round began. A time before it tells other threads that the
     *  clock went back. Written under helper_mutex. Relaxed, as due */
    _Atomic(uint64_t) last;
} pred_handshake_t;


/** Whether the helper thread gets to its work. Only helper/poll.c and the
 *  rounds of the helper use these atomics. */
typedef struct pred_absence {
    /** Not 0: the helper thread did not get to its work for long, and has not
     *  run since. check_absent() sets it, the helper thread clears it.
     *  Sequentially consistent */
    _Atomic(int)      found;
    /** How many checks have found the round of the helper thread overdue, and
     *  when the last of these checks was. Any thread writes the two fields, and
     *  each round clears the number. Relaxed, since the number need not be
     *  exact */
    _Atomic(unsigned) checks;
    _Atomic(uint64_t) last_check;
    _Atomic(int)      warned; /**< Not 0: a warning has told the user that the
                                  program does the work. Set once */
} pred_absence_t;


/** A region at which a later round goes on. Written in rounds, under helper_mutex. */
typedef struct pred_hand {
    uintptr_t                start;      /**< Start of the known range of the region
                                              when the hand was set; 0: the hand
                                              is at the first region */
    ucs_rcache_pred_region_t *region;    /**< The region. A buffer that two domains
                                              use is two regions of one start, so
                                              that the start alone does not tell */
    uint64_t                 generation; /**< Generation of the region when the hand
                                              was set. Another one now: the region
                                              is gone */
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
                                           seat; the other fields are not
                                           used */
    ucs_rcache_pred_time_t  outside;  /**< How much time the rounds so far have
                                           spent on registering and
                                           deregistering regions. The rounds
                                           themselves are charged without it */
    ucs_rcache_pred_time_t  outside_begin; /**< Value of outside at the begin of
                                           this round */
    ucs_rcache_pred_time_t  now;      /**< When this step of the round has begun */
    ucs_rcache_pred_time_t  outside_step;  /**< Value of outside at that time */
    ucs_rcache_pred_time_t  busy_begin;  /**< Processor time of the helper thread, or
                                           the time, at the begin of this round */
    int                     by_thread;   /**< Whether the helper thread does this
                                           round, and not the program */
    ucs_rcache_pred_time_t  merge_after; /**< Before this time no regions are
                                              merged, see helper/merge.c */
    ucs_rcache_pred_time_t  quiet_until; /**< Before this time there is no
                                           budget for entries of the DQ */
    ucs_rcache_pred_time_t  looked;   /**< When the last round ended that had
                                           budget for entries of the DQ */
    ucs_rcache_pred_time_t  pause;    /**< By how much that round has put off
                                           quiet_until, ns, to pay for itself */
    unsigned                backoff;  /**< How many times as long as the budget
                                           asks for that pause was: each round in
                                           vain doubles the number, from 1 on */
    int                     found;    /**< Whether this round has decided about a
                                           region that could be given up and be
                                           registered again in time for its next
                                           use */
    ucs_rcache_pred_time_t  reaped;   /**< When stale regions were last found; 0:
                                           never */
    ucs_rcache_pred_time_t  full;     /**< Until this time a bound counts as full,
                                           since regions had to be evicted for room,
                                           or room was refused */
    uint64_t                evictions;   /**< How many evictions and refusals there had
                                           been when the last round began */
    uint64_t                room_bytes;   /**< How many bytes uses are expected to
                                           register from one round to the next */
    unsigned                room_regions; /**< How many registrations uses are
                                           expected to make in that time */
    int                     is_trial; /**< Not 0: this round looks at uses only to
                                           find out whether they can be predicted,
                                           see spend.c */
    uint64_t                trial_end;  /**< How many uses there will have been when
                                             the last trial ends */
    ucs_rcache_pred_time_t  trial_begin; /**< Value of stats.room_lost when it began */
    double                  trial_cost; /**< What its rounds have cost so far, as from
                                             the budget, ns */
    int                     has_lost; /**< Whether the DQ had lost entries of regions
                                           when this round last looked into it */
    uint64_t                precedents; /**< How many precedents were followed */
    uint64_t                errors[UCS_RCACHE_PRED_ERROR_CLASSES];
                                        /**< Errors of predictions so far. Both get into
                                             the statistics with the next decision */
    unsigned                foretold; /**< Value of bound.foretold at the begin of
                                           this round */
    double                  idle;     /**< Part of its processor that nobody but the
                                           helper needs, as the last seat said */
    ucs_rcache_pred_budget_t budget;
    ucs_rcache_pred_time_t  last;     /**< When the last round began */
    ucs_rcache_pred_time_t  fed;      /**< When the last round began that has
                                           taken an entry out of the DQ: only
                                           such a round tells whether entries
                                           are urgent */
    ucs_rcache_pred_time_t  emptied;  /**< When a round last found the DQ empty, or
                                           began after the helper thread had slept. A
                                           use whose entry comes out of the DQ later
                                           has ended after this time */
    int                     slept;    /**< Not 0: the last round has let the helper
                                           thread sleep until the end of a use wakes
                                           the thread */
    ucs_rcache_pred_time_t  last_entry; /**< When an entry was last taken out of
                                           the DQ */
    ucs_rcache_pred_time_t  next;     /**< When the next round shall begin, as
                                           the last round has decided */
    ucs_rcache_pred_time_t  urgent;   /**< Until this time, uses are expected to
                                           end after which the helper deregisters
                                           their regions: until then it looks at
                                           the DQ more often */
    ucs_rcache_pred_time_t  poll_interval; /**< How long to wait from one look
                                           at the DQ to the next, until the time
                                           in urgent */
    pred_hand_t             gc_hand; /**< Region at which the hand of the clock is
                                          that finds regions to forget */
    pred_hand_t             check_hand; /**< Region at which a debug build goes on
                                             with its check of the invariants of
                                             extents */
    unsigned                gc_steps; /**< Steps of pred_collect_garbage() so far in
                                           which newcomers were to be forgotten
                                           first, see cleanup.c; wraps around */
} pred_rounds_t;


/** The place of this process among those of the node. Protected by
 *  helper_mutex. */
typedef struct pred_seat {
    unsigned               votes;  /**< How many seats in a row have had a
                                        processor for the helper thread, while the
                                        program does the work */
    ucs_rcache_pred_time_t first;  /**< When a round first asked for the seat; 0:
                                        none has */
    ucs_rcache_pred_time_t time;   /**< When a round last asked for the seat; 0:
                                        none has, or the next round shall ask */
    unsigned               late;   /**< How many sleeps of the helper in a row have
                                        ended late */
    uint64_t               demand; /**< Bytes of the regions that were used
                                        lately: so much would be registered if
                                        nothing were ever deregistered */
    uint64_t               epoch_demand; /**< Bytes of the regions that were
                                              used in this epoch so far */
    uint32_t               epoch;  /**< Number of the present epoch, from 1. An
                                        epoch is the time between two seats */
} pred_seat_t;


/** Whether memory is short, and what registrations have lost to swap. */
typedef struct pred_shortage {
    ucs_rcache_pred_shortage_t state;     /**< Protected by helper_mutex, as looked */
    ucs_rcache_pred_time_t     looked;    /**< When a round, or the helper thread, last
                                               looked; 0: not yet */
    _Atomic(int)               is_short;  /**< As state says. Written under helper_mutex,
                                               read by threads that register; relaxed */
    ucs_rcache_pred_time_t     read_back; /**< Time that registrations since that look
                                               have spent on pages that were in swap,
                                               ns. Protected by the lock, as
                                               the next ones */
    double                     waited;    /**< Such time of late, ns, and the pages that
                                               were registered, with and without waits:
                                               each look fades both */
    double                     pages;
    double                     page_time; /**< What a page is expected to wait for when it
                                               is registered, ns; 0 while memory is not
                                               short */
} pred_shortage_t;


struct ucs_rcache_pred {
    /* Constant after creation, except that the policy may become on-demand
     * before the first domain is created. Every use reads these */
    ucs_rcache_pred_params_t    params;
    ucs_rcache_pred_ops_t       ops;

    /* Protected by the lock. What a hit touches comes first: the heads of the
     * table's buckets, and the counters of uses and hits */
    _Atomic(uintptr_t)           lock UCS_V_ALIGNED(64); /**< pred_self() of the
                                                             thread that has the
                                                             lock; 0: no thread
                                                             has. Only lock.h,
                                                             cache.h, lanes.h,
                                                             lock.c and cache.c
                                                             access it */
    /** How many ranges were deferred. The array in deferred has the first
     *  PRED_MAX_DEFERRED of them. A handler that has interrupted the owner of the
     *  lock, or a thread in its lane, adds to the number, and the next owner sets
     *  it to 0. Relaxed for a thread that has just taken the lock; deferred.c says
     *  why other accesses are not */
    _Atomic(unsigned)            num_deferred;
    /** NULL: there are no lanes yet. Written once, under the lock, with release */
    _Atomic(pred_lanes_t*)      lanes;
    /** Which thread has begun the last use under the lock, as pred_self(), and how
     *  many times that thread was another one than for the use before */
    struct {
        uintptr_t thread;
        uint64_t  count;
    }                           turns;
    ucs_rcache_pred_table_t     table;
    ucs_rcache_pred_forgotten_t forgotten;
    ucs_rcache_pred_stats_t     stats;
    pred_integral_t             integral;
    ucs_rcache_pred_time_t      lost;     /**< Time that uses since the last round
                                               of the helper have spent, and would
                                               not have under leave-pinned, ns:
                                               they waited for registrations by
                                               other threads, or registered what
                                               leave-pinned would have kept */
    pred_bound_t                bound;
    unsigned                    num_guarded; /**< Regions that are guarded */
    ucs_rcache_pred_dq_t        dq;
    pred_deferred_t             deferred;

    /* Atomics, which need no lock */
    pred_handshake_t            handshake UCS_V_ALIGNED(64);
    pred_absence_t              absence;

    pred_shortage_t             shortage;

    /* Protected by helper_mutex */
    ucs_mutex_t                 helper_mutex UCS_V_ALIGNED(64);
    ucs_list_link_t             domains;
    unsigned                    num_domains; /**< Number of domains that were
                                                  created so far */
    ucs_rcache_pred_node_t      *node;     /**< Where other processes ask this one for
                                                room or keys: params.node, or that of
                                                the domains; NULL: nobody asks */
    ucs_rcache_pred_time_t      asked;     /**< When somebody had asked last */
    ucs_rcache_pred_predictor_t predictor;
    pred_rounds_t               rounds;
    pred_seat_t                 seat;
};


/** A handle that is on its way: mem_reg has returned it, and it is not in its region
 *  yet; or it was taken from its region, to be deregistered. */
typedef struct pred_handle {
    ucs_rcache_pred_domain_t *domain;
    void                     *memh;    /**< NULL: there is no handle */
    ucs_rcache_pred_range_t  range;
    uint64_t                 id;       /**< Generation of the region; 0: the
                                            memory is a piece */
    struct ucs_rcache_pred_region *region; /**< The region whose memory the range is. It
                                            may be another one's by now unless its
                                            generation is id; NULL: the memory is a
                                            piece */
    int                      held;     /**< Not 0: the memory takes room of the
                                            reserve that the node holds for this
                                            process */
    int                      offered;  /**< Not 0: this process has offered the room
                                            of the memory to other processes of the
                                            node */
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

/** @return whether a round is due. After the clock went back a round is due at once,
 *          since the time for which it was planned may be far in the future now. Any
 *          thread. */
static inline int
pred_is_due(const ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    const pred_handshake_t *handshake = &pred->handshake;

    /* Relaxed: only a hint. The round finds out under helper_mutex what there is to do */
    return (now >= ucs_relaxed_load(&handshake->due)) ||
           (now + PRED_CLOCK_SLACK <
            ucs_relaxed_load(&handshake->last));
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

/** Wake the helper if it sleeps and waits to be woken. Any thread; wait-free. */
static inline void pred_wake(ucs_rcache_pred_t *pred)
{
    pred_handshake_t *handshake = &pred->handshake;

    /* Sequentially consistent: before this load the caller has pushed an entry
     * under the lock, or has set stale. If the load does not see that the helper is
     * asleep, the helper sees the entry or stale. See pred_sleep() in
     * helper/pace.c */
    if (ucs_likely(!atomic_load(&handshake->asleep)) ||
        !atomic_exchange(&handshake->asleep, 0)) {
        return;
    }

    /* Relaxed: no other data depends on the value of due. The helper stored its own
     * value before it set asleep, so that 0 stays. */
    ucs_relaxed_store(&handshake->due, 0);
    /* The mode was written before asleep was set. If another thread has changed the
     * mode since then, either that thread wakes the helper thread, or this one wakes
     * it for nothing. */
    if (atomic_load(&handshake->mode) == UCS_RCACHE_PRED_MODE_THREAD) {
        pred->ops.wake(pred->params.arg);
    }
}

/** @return whether the region of an entry of the DQ has not been freed since the use
 *          that the entry is about, and is not stale. The helper ignores any other
 *          entry. Under the lock. */
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

/** @return whether the region has a use of which the helper has not learned yet: its
 *          entry will come into the DQ, is there, or was lost. Under lock. */
static inline int pred_region_has_news(const ucs_rcache_pred_region_t *region)
{
    return region->begin > region->learned;
}

/** @return whether a region is in use or being registered, or the helper has not
 *          learned of the last use of the region yet. Then the helper does not decide
 *          about the region now. Under lock. */
static inline int pred_region_is_busy(const ucs_rcache_pred_region_t *region)
{
    return (region->refs > 0) || (region->in_pieces > 0) ||
           (region->extent.state == UCS_RCACHE_PRED_EXTENT_REGISTERING) ||
           pred_region_has_news(region);
}

/** @return whether a region is in use, or guarded, and its last use that found it idle
 *          (region->begin) began longer than @a period ago, ns. Such a region may stay in
 *          use for long, as a receive buffer that the program posts long before a message
 *          comes, and the helper does not wait for it. Under lock. */
static inline int
pred_region_is_occupied(const ucs_rcache_pred_region_t *region,
                        ucs_rcache_pred_time_t period,
                        ucs_rcache_pred_time_t now)
{
    return (region->refs > 0) && (pred_elapsed(region->begin, now) > period);
}

/** @param [in] status  Result of an attempt to register memory, or to claim a region
 *                      for it.
 *  @return whether the attempt has failed for another reason than lack of room. Then
 *          it would fail again as long as the program does not change the memory. */
static inline int pred_is_unfit(ucs_status_t status)
{
    return UCS_STATUS_IS_ERR(status) && (status != UCS_ERR_NO_MEMORY) &&
           (status != UCS_ERR_NO_RESOURCE) &&
           (status != UCS_ERR_EXCEEDS_LIMIT) &&
           (status != UCS_ERR_UNSUPPORTED);
}

/** @return the range and the domain in which to register an extent, without a memh
 *          yet. They do not change while a REGISTERING extent is being registered. */
static inline pred_handle_t
pred_extent_handle(ucs_rcache_pred_extent_t *extent)
{
    return (pred_handle_t){
        .domain = extent->domain,
        .range  = extent->range,
        .id     = ucs_rcache_pred_region_of(extent)->generation,
        .region = ucs_rcache_pred_region_of(extent)
    };
}

/** Guard a registered extent, if it is not guarded yet: keep it registered, since its
 *  memory could not be registered again (cache/bound.h). Under lock.
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

/** Guard an extent that has just been registered, if its memory has lost a right during
 *  the registration. If a use has registered the extent, the caller calls this after the
 *  use has begun. Under lock. */
static inline void
pred_guard_overtaken(ucs_rcache_pred_t *pred, ucs_rcache_pred_extent_t *extent)
{
    if (ucs_unlikely(extent->overtaken && !extent->stale)) {
        extent->overtaken = 0;
        pred_guard(pred, extent, pred_pages(pred, &extent->range));
    }
}

/** End the guard of an extent, if it is guarded. If no use is under way either, the
 *  caller makes the extent stale, takes its handle, or has the helper decide about it.
 *  Under lock. */
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

/** Let no further use find an extent, and have it cleared away once it is not in use. The
 *  caller calls pred_note_stale() afterwards. Under lock. */
static inline void
pred_make_stale(ucs_rcache_pred_t *pred, ucs_rcache_pred_extent_t *extent)
{
    extent->stale = 1;
    pred_unguard(pred, extent);
    ucs_rcache_pred_region_clear(&pred->table, ucs_rcache_pred_region_of(extent));
}

/** An attempt to register a claimed extent has failed. If the system has refused the
 *  memory though there was room, and the region was used before, the next registration is
 *  guarded from the end of its first use on: the system may refuse the memory again, and
 *  UCX's own cache would still have the earlier registration. Under lock. */
static inline void pred_guard_failed(const ucs_rcache_pred_t *pred,
                                     ucs_rcache_pred_extent_t *extent,
                                     ucs_status_t status)
{
    extent->frail |= (ucs_rcache_pred_region_of(extent)->begin > 0) &&
                     pred_is_unfit(status) && !pred_is_on_demand(pred);
}

#endif
