/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_INT_H_
#define UCS_RCACHE_PRED_INT_H_

#include "dq.h"
#include "region.h"

#include <ucs/rcache_pred/predict/cost.h>
#include <ucs/rcache_pred/predict/policy.h>

#include <ucs/type/spinlock.h>

#include <pthread.h>
#include <sched.h>

/** @file rcache_pred_int.h
 *
 * The cache, as its parts share it. Any thread: use.c (begin and end of use,
 * unmap), pieces.c (uses in pieces), bound.c (room, evictions) and register.c.
 * The helper: helper.c (one round of it), predict.c and mode.c (who does it).
 * The rest: rcache_pred.c.
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


/** A handle on its way from registration to its region, or from there to
 *  deregistration. */
typedef struct pred_handle {
    ucs_rcache_pred_domain_t *domain;
    void                     *memh;    /**< NULL: none */
    uintptr_t                start;
    size_t                   length;
    uint64_t                 id;       /**< Of the region; 0: a piece */
    int                      held;     /**< See pred_reserve() */
} pred_handle_t;


/** What is to be registered, when room is asked for it. */
typedef enum {
    PRED_PART_WHOLE, /**< A region: leaves the reserve alone */
    PRED_PART_PIECE  /**< A piece of a transfer that must get on */
} pred_part_t;


struct ucs_rcache_pred {
    /* Constant after creation */
    ucs_rcache_pred_params_t      params;
    ucs_rcache_pred_ops_t         ops;

    pthread_mutex_t               helper_mutex;
    ucs_spinlock_t                lock;

    /* Under lock */
    ucs_rcache_pred_table_t       table;
    uint64_t                      max_bytes;  /**< Bound on stats.bytes_now */
    unsigned                      releasing;  /**< Of all domains */
    uint64_t                      releases;   /**< Rooms given back */
    unsigned                      ahead_now;  /**< Regions the helper is just
                                                   registering */
    unsigned                      pieces_now; /**< Pieces registered, about
                                                    to be, or not yet
                                                    deregistered */
    uint64_t                      held_bytes; /**< Of NODE_RESERVE, in use */
    unsigned                      held_regions; /**< Likewise */
    ucs_rcache_pred_stats_t       stats;
    unsigned __int128             byte_ns;    /**< Of the statistics; 64 bits
                                                   hold 17 s of 1 GiB */
    ucs_rcache_pred_time_t        stats_time; /**< Integrals are valid up to
                                                   here; 0: no domain */

    ucs_rcache_pred_dq_t          dq;

    /** ucs_rcache_pred_mode_t, as if there were no policy without. Written
     *  under helper_mutex, but by check_absent(), which takes the work from the
     *  thread without. Sequentially consistent, see pred_wake() */
    _Atomic int                   mode;
    /** The thread has not come for long and has not been seen since. Set by
     *  check_absent(), cleared by the thread. */
    _Atomic int                   absent;
    /** When the next round is due. Written at the end of a round, under
     *  helper_mutex, before asleep is set; 0 by whoever clears asleep. Relaxed:
     *  a time */
    _Atomic uint64_t              due;
    /** Checks that found the thread's round overdue, and the last of them.
     *  Written by any thread, the number cleared by rounds; relaxed, and may be
     *  off by some */
    _Atomic unsigned              overdue_count;
    _Atomic uint64_t              overdue_at;
    _Atomic int                   warned;  /**< It was said that the thread is
                                                absent */

    /** The helper is about to sleep until it is woken. Set by the helper,
     *  cleared by whoever wakes it; sequentially consistent with dq.head and
     *  stale, see helper_sleep() */
    _Atomic int                   asleep;
    /** There are stale regions for the helper to clear away. Set by uses and
     *  unmaps, cleared by the helper. */
    _Atomic int                   stale;

    /* Under helper_mutex */
    ucs_list_link_t               domains;
    unsigned                      num_domains; /**< Ever created */
    ucs_list_link_t               rq;      /**< Registration queue, ordered by
                                                deadline */
    ucs_list_link_t               awaited; /**< Regions kept or registered
                                                ahead, ordered by when to stop
                                                waiting for their use */
    ucs_rcache_pred_predictor_t   predictor;
    ucs_rcache_pred_times_t       times;   /**< dq_item, rq_item, wakeup: as
                                                measured */
    ucs_rcache_pred_time_t        outside;    /**< Spent in mem_reg and
                                                   mem_dereg by the helper */
    ucs_rcache_pred_time_t        last_round; /**< When it began */
    ucs_rcache_pred_time_t        last_entry; /**< When one was taken off the
                                                   DQ */
    ucs_rcache_pred_time_t        next_poll;  /**< As the last round returned */
    ucs_rcache_pred_time_t        urgent;     /**< Until then, ends of uses of
                                                   regions that are given up in
                                                   between are expected */
    ucs_rcache_pred_time_t        poll_interval; /**< Until then, between looks
                                                   at the DQ */
    uint64_t                      dropped_seen; /**< dq.dropped at last sweep */
    unsigned                      gc_hand;
    unsigned                      mode_votes; /**< Seats in a row that asked for
                                                   the other mode */
    ucs_rcache_pred_time_t        seat_time;  /**< Of the last seat; 0: none */
    uint64_t                      demand;     /**< Bytes of the regions used of
                                                   late: what would be
                                                   registered if nothing was
                                                   ever deregistered */
    uint64_t                      epoch_demand; /**< Since the last seat */
    uint32_t                      epoch;      /**< Seats so far */
};


static inline ucs_rcache_pred_time_t pred_now(ucs_rcache_pred_t *pred)
{
    return pred->ops.now(pred->params.arg);
}

/** Time from begin to end; 0 if a processor's counter is behind another's. */
static inline ucs_rcache_pred_time_t
pred_elapsed(ucs_rcache_pred_time_t begin, ucs_rcache_pred_time_t end)
{
    return (end > begin) ? (end - begin) : 0;
}

static inline uint64_t pred_page_bytes(uintptr_t start, size_t length)
{
    return ucs_rcache_pred_pages(start, length) * UCS_RCACHE_PRED_PAGE_SIZE;
}

/** Bring the integrals of the statistics up to now. Under lock. */
void pred_stats_advance(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now);

/**
 * Find room for a registration, and count it as registered from now on; whole
 * pages, as the kernel counts. Idle regions are given up for it, those with the
 * farthest deadlines first. Without the lock.
 *
 * @param [in] deadline  Only regions needed later than this are given up. 0:
 *                       any idle one, and what others are deregistering, or
 *                       the helper is registering ahead, is waited for.
 * @param [out] held_p   Whether the room is part of what the node holds for
 *                       this process; never for whole regions.
 * @return 0 if there is no room.
 */
int pred_reserve(ucs_rcache_pred_t *pred, uintptr_t start, size_t length,
                 pred_part_t part, ucs_rcache_pred_time_t deadline,
                 int *held_p);

/** It is not or no longer registered. Without the lock.
 *  @param [in] held  As it was reserved. */
void pred_unreserve(ucs_rcache_pred_t *pred, uintptr_t start, size_t length,
                    int held);

/** Give up an idle region whose next use is later than @a deadline, the
 *  farthest away first. Without the lock. @return 0 if there is none. */
int pred_evict(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t deadline);

/** Register memory for which there is room, and fill in its handle. Without the
 *  lock. */
ucs_status_t pred_register(pred_handle_t *handle, ucs_rcache_pred_by_t by,
                           unsigned flags, ucs_rcache_pred_time_t *end_p);

/** What is to be registered for a region. Constant while it is REGISTERING. */
pred_handle_t pred_region_handle(const ucs_rcache_pred_region_t *region);

/** Take the handle of a registered region, which is IDLE from now on. Under
 *  lock. */
pred_handle_t pred_take_handle(ucs_rcache_pred_t *pred,
                               ucs_rcache_pred_region_t *region);

/** Deregister a handle that was taken and give its room back. Without the
 *  lock. */
void pred_deregister(const pred_handle_t *handle, ucs_rcache_pred_by_t by);

/** Tell those who waited that an invalidated region is deregistered. Without the
 *  lock. */
void pred_run_waiters(ucs_rcache_pred_waiter_t *waiters);

/** Whether the first byte of a use moves earlier if the memory is registered in
 *  pieces. Under lock. */
int pred_pieces_pay(ucs_rcache_pred_domain_t *domain, uintptr_t start,
                   size_t length);

/** A use in pieces starts. Under lock.
 *  @param [in] region  Learns of it; NULL: none. */
void pred_pieces_start(ucs_rcache_pred_domain_t *domain,
                     ucs_rcache_pred_region_t *region, uintptr_t start,
                     size_t length, ucs_rcache_pred_time_t now,
                     const ucs_rcache_pred_context_t *context,
                     ucs_rcache_pred_pieces_t *pieces);

/** Whether anybody is told of events. */
static inline int pred_has_sink(const ucs_rcache_pred_t *pred)
{
    return ucs_unlikely(pred->params.sink != NULL);
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

/** Wake the helper if it sleeps until woken. Any thread; wait-free. */
static inline void pred_wake(ucs_rcache_pred_t *pred)
{
    /* Sequentially consistent: comes after the push, or the setting of stale,
     * that the helper is to see; see helper_sleep() */
    if (ucs_likely(!atomic_load(&pred->asleep)) ||
        !atomic_exchange(&pred->asleep, 0)) {
        return;
    }

    /* Relaxed: a time. It replaces the one that was stored before asleep. */
    atomic_store_explicit(&pred->due, 0, memory_order_relaxed);
    /* The mode was written before asleep was set. If it has changed since, the
     * thread is woken by who gave it the work, or wakes for nothing. */
    if (atomic_load(&pred->mode) == UCS_RCACHE_PRED_MODE_THREAD) {
        pred->ops.wake(pred->params.arg);
    }
}


/** helper.c: one round, at most so many turns. Under helper_mutex.
 *  @return the time of the next one, or UCS_RCACHE_PRED_TIME_INF. */
ucs_rcache_pred_time_t pred_helper_round(ucs_rcache_pred_t *pred,
                                         unsigned steps);

/** mode.c: at the beginning of a round, ask for the seat if it is time, and
 *  change the mode if need be. Under helper_mutex. */
void pred_take_seat(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now);

/** mode.c: a use of the region has ended. Under helper_mutex. */
void pred_note_demand(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                      uint64_t length);

void pred_mode_init(ucs_rcache_pred_t *pred);

/* event.c: tell of an event. There must be somebody to tell. Under lock, but
 * for decisions */

/** @param [in] result  UCS_RCACHE_PRED_RESULT_*, of USE_BEGIN.
 *  @param [in] event   Its id is the region's, or 0 if there is none.
 *  @param [in] pieces    The use, if it can go on in pieces; or NULL. */
void pred_emit_begin(const ucs_rcache_pred_domain_t *domain,
                     ucs_rcache_pred_event_t *event, unsigned result,
                     const ucs_rcache_pred_pieces_t *pieces);
void pred_emit_end(const ucs_rcache_pred_domain_t *domain, uint64_t id,
                   ucs_rcache_pred_time_t begin,
                   ucs_rcache_pred_time_t end);
void pred_emit_registration(ucs_rcache_pred_event_type_t type,
                            ucs_rcache_pred_by_t by,
                            const pred_handle_t *handle,
                            ucs_rcache_pred_time_t begin,
                            ucs_rcache_pred_time_t end, ucs_status_t status);
void pred_emit_unmap(const ucs_rcache_pred_t *pred, uintptr_t start,
                     uintptr_t end);
void pred_emit_unmet(const ucs_rcache_pred_region_t *region);
/** Without lock. @param [in] history  NULL: no use is predicted. */
void pred_emit_decision(const ucs_rcache_pred_region_t *region,
                        ucs_rcache_pred_time_t now,
                        ucs_rcache_pred_time_t deadline,
                        const ucs_rcache_pred_history_t *history, int kept);

/** The helper forgets a region that is idle and that no use can find (stale, or
 *  of a domain that goes): takes it off its queue and out of the table. Under
 *  helper_mutex, without the lock. */
void pred_forget_region(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region);

#endif
