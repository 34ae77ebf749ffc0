/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_LANES_H_
#define UCS_RCACHE_PRED_LANES_H_

#include "lock.h"

#include <ucs/base/hash.h>

#include <ucs/sys/math.h>

/** @file lanes.h
 *
 * Uses of several threads at a time. One lock for all of them would make each
 * hit wait for cache lines of other processors. So each thread has a lane, and a
 * region that is used over and over by one thread belongs to its lane: begin and
 * end of such a use touch the lane and the region, which no other thread writes
 * meanwhile.
 *
 * A lane is a lock that only its own thread takes, and which the lock of the cache
 * includes: a thread that takes the lock of the cache waits until no thread is in its
 * lane, and a thread enters its lane only while nobody has the lock of the cache. The
 * former writes pred->lock and then reads busy of each lane, the latter writes busy of
 * its lane and then reads pred->lock, all sequentially consistent: so at least one of
 * the two sees the other (Dekker). Hence the lock of the cache still protects all that
 * it is said to protect. A thread in its lane may read all of that, but write only
 *
 *   - its lane, with the lists and the queue that are in there, and
 *   - those fields of the regions of its lane that a use writes, their number of
 *     entries, and their places in these lists.
 *
 * The helper moves the queues of lanes to pred->dq whenever pred->dq is empty, and now
 * and then if it never is. So if some uses of a region went through the lock and some
 * through a lane, the helper may take out their entries in another order than that of
 * the uses. It then learns nothing from an entry that a later use has overtaken
 * (pred_region_learn_needs()).
 *
 * There are no lanes until two threads have taken turns at uses for a while: a
 * single thread takes the lock, which costs as much as to enter a lane. There are no
 * lanes either if somebody receives events, whose order would be lost, or if the policy
 * is on-demand.
 */

/** The most threads that have a lane. Other threads take the lock. */
#define PRED_LANES      64
#define PRED_LANES_BITS 6

/** In how many places, from the one that its hash says on, a thread looks for its
 *  lane. */
#define PRED_LANE_PROBES 4

/** After so many changes of the thread from one use to the next, threads get lanes. */
#define PRED_LANES_TURNS 64

/** A region belongs to the lane of a thread after so many uses in a row by that
 *  thread, and no longer once another thread uses the region. */
#define PRED_LANE_CLAIMS 8


typedef struct pred_lane {
    /** pred_self() of its thread; 0: no thread has the lane. Written once, under the
     *  lock. Relaxed: a thread only looks for its own number. A thread that ends leaves
     *  its lane to a later thread with the same number. */
    _Atomic(uintptr_t)       thread;
    /** Whether the thread is in the lane. Only that thread writes it: sequentially
     *  consistent when the thread enters, see above; with release when it leaves, so
     *  that the next owner of the lock sees what the thread wrote. */
    _Atomic(int)             busy;
    unsigned                number; /**< From 1. Constant */
    /** Counts of uses in the lane that the statistics do not have yet */
    uint64_t                uses, hits, early;
    /** Regions that pred_close_lanes() will move to table->noted */
    ucs_rcache_pred_noted_t noted;
    /* Another cache line, which a thread that takes the lock does not read */
    ucs_rcache_pred_dq_t    dq UCS_V_ALIGNED(64);
    /** Regions of uses that began in the lane */
    ucs_rcache_pred_memo_t  memo;
    /** How many of the next uses go straight to the lock, and how many shall once
     *  another use does not find its region in the lane, see PRED_LANE_PENALTY. Only
     *  the thread of the lane reads and writes the two fields. */
    uint16_t                skips;
    uint16_t                penalty;
} UCS_V_ALIGNED(64) pred_lane_t;


/** The lanes of a cache. */
struct pred_lanes {
    pred_lane_t lanes[PRED_LANES];
    /** The lanes that have a thread, as bits. Under the lock */
    uint64_t    used;
    /** The index of the lane whose entries were last moved to pred->dq. Under the
     *  lock */
    unsigned    moved;
    /** How many entries of pred->dq were taken out; wraps around. Under the
     *  lock */
    unsigned    pops;
};


/** A use that looks for its region in the lane in vain takes cache lines away from
 *  threads that have the lock. So after a use in vain, some of the next uses go straight
 *  to the lock: PRED_LANE_PENALTY more than after the last use in vain, up to the
 *  maximum, and one less for each use since then that has found its region in the lane.
 *  Where fewer than two uses in three find their regions in the lane, most uses take the
 *  lock. */
#define PRED_LANE_PENALTY     2
#define PRED_LANE_PENALTY_MAX 64

/** @param [in] thread  pred_self() of this thread; 0: look for a free lane.
 *  @return of the places where this thread looks for its lane, the first lane that
 *          @a thread has; NULL: there is none. */
static UCS_F_ALWAYS_INLINE pred_lane_t *
pred_lane_find_of(pred_lanes_t *lanes, uintptr_t thread)
{
    unsigned place = ucs_hash_bits(pred_self(), PRED_LANES_BITS);
    pred_lane_t *lane;
    unsigned i;

    for (i = 0; i < PRED_LANE_PROBES; ++i) {
        lane = &lanes->lanes[(place + i) % PRED_LANES];
        if (ucs_likely(ucs_relaxed_load(&lane->thread) == thread)) {
            return lane;
        }
    }

    return NULL;
}

/** @return the lane of this thread; NULL: it has none. */
static UCS_F_ALWAYS_INLINE pred_lane_t *pred_lane_find(pred_lanes_t *lanes)
{
    return pred_lane_find_of(lanes, pred_self());
}

/** @return whether a use that begins now goes straight to the lock. Counts the use if it
 *          does. */
static UCS_F_ALWAYS_INLINE int pred_lane_skips(pred_lane_t *lane)
{
    if (ucs_likely(lane->skips == 0)) {
        return 0;
    }
    --lane->skips;
    return 1;
}

/** Note whether a use has found its region in the lane. */
static UCS_F_ALWAYS_INLINE void pred_lane_note(pred_lane_t *lane, int is_found)
{
    if (ucs_likely(is_found)) {
        lane->penalty -= (lane->penalty > 0);
    } else {
        lane->penalty = ucs_min(lane->penalty + PRED_LANE_PENALTY,
                                PRED_LANE_PENALTY_MAX);
        lane->skips   = lane->penalty;
    }
}

/** Leave a lane. */
static UCS_F_ALWAYS_INLINE void pred_lane_leave(pred_lane_t *lane)
{
    ucs_rank_drop(lane);
    /* Release: see the field */
    atomic_store_explicit(&lane->busy, 0, memory_order_release);
}

/** Enter the lane of this thread. @return 0 if the thread has not entered: it has to take
 *  the lock instead, by which the deferred ranges are unmapped. */
static UCS_F_ALWAYS_INLINE int
pred_lane_enter(ucs_rcache_pred_t *pred, pred_lane_t *lane)
{
    ucs_rank_check(UCS_RANK_CACHE);
    for (;;) {
        atomic_store(&lane->busy, 1);
        ucs_rank_take(UCS_RANK_CACHE, lane, UCS_RANK_TRY);
        if (ucs_likely(atomic_load(&pred->lock) == 0)) {
            break;
        }
        pred_lane_leave(lane);
        pred_lock_wait_free(pred);
    }

    if (ucs_unlikely(ucs_relaxed_load(&pred->num_deferred) > 0)) {
        pred_lane_leave(lane);
        return 0;
    }
    return 1;
}

/** @return whether this thread is in its lane. Then the caller is the handler of a
 *          signal that has interrupted the thread, and must not take the lock. */
static inline int pred_lane_is_own(ucs_rcache_pred_t *pred)
{
    pred_lanes_t *lanes = atomic_load_explicit(&pred->lanes,
                                               memory_order_acquire);
    pred_lane_t *lane   = (lanes == NULL) ? NULL : pred_lane_find(lanes);

    /* Relaxed: the thread itself writes it */
    return (lane != NULL) && ucs_relaxed_load(&lane->busy);
}

/** Note that this thread begins a use. Under the lock. @return whether the caller shall
 *  give the thread a lane by pred_lane_take(), once it has released the lock. */
static UCS_F_ALWAYS_INLINE int pred_lane_note_use(ucs_rcache_pred_t *pred)
{
    if (ucs_likely(pred->turns.thread == pred_self())) {
        return 0;
    }

    pred->turns.thread = pred_self();
    return ++pred->turns.count >= PRED_LANES_TURNS;
}

/** Wait until no thread is in its lane, and add what lanes have counted and noted to the
 *  statistics and the table. pred_lock() calls this when it has just taken the lock. */
void pred_close_lanes(ucs_rcache_pred_t *pred);

/** This thread has begun a use of a region, under the lock. Give the region to the lane
 *  of the thread, if the thread has begun enough uses of it in a row. */
void pred_lane_give_region(ucs_rcache_pred_t *pred,
                           ucs_rcache_pred_region_t *region);


/** @return whether the queue of a lane can take an entry of a region without the
 *          lock. Otherwise the use ends under the lock. To be called in the lane. */
static UCS_F_ALWAYS_INLINE int
pred_lane_has_room(const pred_lane_t *lane,
                   const ucs_rcache_pred_region_t *region)
{
    const ucs_rcache_pred_dq_entry_t *oldest;

    /* The new entry would take the region off the list of lost regions, which may be that
     * of another queue */
    if (ucs_unlikely(region->lost)) {
        return 0;
    }

    /* If the queue is full, the oldest entry is overwritten, and its region counts it:
     * that region has to belong to this lane as well */
    oldest = ucs_rcache_pred_dq_next_dropped(&lane->dq);
    return ucs_likely(oldest == NULL) ||
           (oldest->region->generation != oldest->generation) ||
           (oldest->region->extent.lane == lane->number);
}


/* The queue of uses that have ended: pred->dq, followed by the queues of the lanes. All
 * of these functions are called under the lock */

/** Take the oldest entry out.
 *  @param [out] has_lost_p  Whether pred_dq_pop_lost() would find a region.
 *  @return whether there was an entry. */
int pred_dq_pop(ucs_rcache_pred_t *pred, ucs_rcache_pred_dq_entry_t *entry,
                int *has_lost_p);
ucs_rcache_pred_region_t *pred_dq_pop_lost(ucs_rcache_pred_t *pred);
int pred_dq_is_empty(ucs_rcache_pred_t *pred);

/** @return how many entries were overwritten so far. */
uint64_t pred_dq_dropped(const ucs_rcache_pred_t *pred);

#endif
