/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_CACHE_H_
#define UCS_RCACHE_PRED_CACHE_H_

#include "lock.h"
#include "lanes.h"
#include "state.h"

/** @file cache.h
 *
 * The state of a cache, and an overview of the folder cache/, which has what
 * any thread does with registered memory: begin and end of a use (use.c,
 * claim.c, end.c), uses of slices of the same memory (slices.c), uses in pieces
 * (pieces.c), unmap, loss of rights and invalidation (unmap.c, deferred.c),
 * registration (register.c), the bounds (bound.c), how room is taken, made or
 * refused within them (reserve.c), and how threads wait for each other (lock.c) or need
 * not (lanes.c). It may use api/, predict/ and table/. The helper and the files on top
 * call it; it calls neither of them.
 *
 * Locks, in the order they are taken; docs/design/locks.md has those in between:
 *
 *   helper_mutex  Held by the thread that does a round of the helper, during
 *                 registrations as well. A use or an unmap does not wait for
 *                 it: the end of a use may do a round, but only if it gets the
 *                 mutex at once. A thread of a real-time class that waits for
 *                 anything else, whatever locks it has, lends its priority to the
 *                 holder of this mutex, see lock.c.
 *   lock          Protects the table, the regions and the counters. A use holds
 *                 it for some tens of instructions; the making of a region, an
 *                 eviction and an unmap hold it for a search in a tree, and for
 *                 another search with each region that they find. Nothing is
 *                 allocated, freed, logged or registered while it is held.
 *                 Hence no memory hook runs under it, and the unmap hook may
 *                 take it. One exception is an unmap in the handler of a signal
 *                 that has interrupted the owner of the lock: the unmap is
 *                 deferred, see deferred.c. The lock is not held across a fork.
 *                 It includes the lanes of threads, see lanes.h.
 */

/** Take the lock. */
static inline void pred_lock(ucs_rcache_pred_t *pred)
{
    ucs_rank_check(UCS_RANK_CACHE);
    if (ucs_unlikely(!pred_lock_try(pred))) {
        pred_lock_wait(pred);
    }
    /* A handler that interrupts the thread before this line finds by pred->lock that
     * the thread has the lock */
    ucs_rank_take(UCS_RANK_CACHE, &pred->lock, UCS_RANK_TRY);

    /* Relaxed: written under the lock */
    if (ucs_unlikely(ucs_relaxed_load(&pred->lanes) != NULL)) {
        pred_close_lanes(pred);
    }

    if (ucs_unlikely(ucs_relaxed_load(&pred->num_deferred) > 0)) {
        pred_catch_up(pred);
    }
}

/** Give the lock back. */
static inline void pred_unlock(ucs_rcache_pred_t *pred)
{
    ucs_rank_drop(&pred->lock);
    /* Release: the next holder of the lock sees all writes of this holder */
    atomic_store_explicit(&pred->lock, 0, memory_order_release);
}

/* cache.c */

/** Give this thread a lane, unless it has one, no lane is free, or there is no memory.
 *  Makes the lanes of the cache first, if it has none. Allocates memory; without the
 *  lock. */
void pred_lane_take(ucs_rcache_pred_t *pred);

/** Free all lanes. */
void pred_lanes_cleanup(ucs_rcache_pred_t *pred);

#endif
