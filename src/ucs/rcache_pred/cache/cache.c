/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "cache.h"

#include <ucs/base/clock.h>
#include <ucs/rcache_pred/api/rcache_pred.h>

#include <stdlib.h>
#include <string.h>

/*
 * Functions that need both the lock of the cache and the lanes: threads get lanes here,
 * and callers from outside of the cache find out whether the lock and the lanes are free.
 */


/* Make the lanes of a cache, all without a thread. @return NULL if there is no
 * memory */
static pred_lanes_t *lanes_make(void)
{
    pred_lanes_t *lanes;
    void *memory;
    unsigned i;

    if (posix_memalign(&memory, UCS_RCACHE_PRED_REGION_ALIGN,
                       sizeof(*lanes)) != 0) {
        return NULL;
    }

    lanes = memset(memory, 0, sizeof(*lanes));
    for (i = 0; i < PRED_LANES; ++i) {
        lanes->lanes[i].number = i + 1;
    }
    return lanes;
}

/* @return a free lane for this thread; NULL: the thread has a lane already, or none is
 * free in the places where the thread looks */
static pred_lane_t *free_lane(pred_lanes_t *lanes)
{
    return (pred_lane_find(lanes) != NULL) ? NULL :
                                             pred_lane_find_of(lanes, 0);
}

/* Give this thread a free lane, with the given queue. Under the lock. @return 0 if the
 * thread has a lane already, or no lane is free: then the caller keeps the queue */
static int
lane_assign(pred_lanes_t *lanes, const ucs_rcache_pred_dq_t *dq)
{
    pred_lane_t *lane = free_lane(lanes);

    if (lane == NULL) {
        return 0;
    }

    lane->dq = *dq;
    ucs_list_head_init(&lane->dq.lost); /* The head of a list cannot be copied */
    lanes->used |= UCS_BIT(lane->number - 1);
    ucs_relaxed_store(&lane->thread, pred_self());
    return 1;
}

void pred_lane_take(ucs_rcache_pred_t *pred)
{
    pred_lanes_t *lanes = atomic_load_explicit(&pred->lanes,
                                               memory_order_acquire);
    ucs_rcache_pred_dq_t dq;
    int is_taken;

    if ((lanes != NULL) && (free_lane(lanes) == NULL)) {
        return;
    }

    if (ucs_rcache_pred_dq_init(&dq, pred->params.dq_size) != UCS_OK) {
        return; /* The lock will do */
    }

    lanes = (lanes == NULL) ? lanes_make() : NULL;

    pred_lock(pred);
    if ((ucs_relaxed_load(&pred->lanes) == NULL) && (lanes != NULL)) {
        /* Release: a thread that reads the pointer without the lock sees the
         * lanes initialized */
        atomic_store_explicit(&pred->lanes, lanes, memory_order_release);
        lanes = NULL;
    }

    is_taken = (ucs_relaxed_load(&pred->lanes) != NULL) &&
               lane_assign(ucs_relaxed_load(&pred->lanes), &dq);
    pred_unlock(pred);

    free(lanes);
    if (!is_taken) {
        ucs_rcache_pred_dq_cleanup(&dq);
    }
}

void pred_lanes_cleanup(ucs_rcache_pred_t *pred)
{
    pred_lanes_t *lanes = ucs_relaxed_load(&pred->lanes);
    unsigned i;

    if (lanes == NULL) {
        return;
    }

    ucs_for_each_bit(i, lanes->used) {
        ucs_rcache_pred_dq_cleanup(&lanes->lanes[i].dq);
    }
    free(lanes);
}

/* @param [in] number  Index of a lane; PRED_LANES: the lock.
 * @return whether a thread is in the lane, or has the lock. Relaxed: the caller reads
 *         nothing that the lock or the lane protects. */
static int is_taken(ucs_rcache_pred_t *pred, const pred_lanes_t *lanes,
                    unsigned number)
{
    if (number == PRED_LANES) {
        return ucs_relaxed_load(&pred->lock) != 0;
    }

    return (lanes != NULL) && ucs_relaxed_load(&lanes->lanes[number].busy);
}

int ucs_rcache_pred_is_free(ucs_rcache_pred_t *pred, uint64_t patience)
{
    uint64_t start      = ucs_monotonic_ns();
    /* Acquire: pairs with the release in pred_lane_take() */
    pred_lanes_t *lanes = atomic_load_explicit(&pred->lanes,
                                               memory_order_acquire);
    unsigned i;

    /* Wait for the lanes and the lock one after the other. If each of them was free once,
     * no thread is stuck in it, and a later owner gives it back */
    for (i = 0; i <= PRED_LANES; ++i) {
        while (is_taken(pred, lanes, i)) {
            if (ucs_monotonic_ns() - start >= patience) {
                return 0;
            }
            pred_give_way(pred);
        }
    }

    return 1;
}
