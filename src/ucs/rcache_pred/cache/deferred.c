/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "lock.h"
#include "event.h"

#include <ucs/rcache_pred/table/known.h>

#include <ucs/sys/math.h>

/*
 * A program may unmap memory in the handler of a signal, and the signal may
 * come while its thread has the lock of the cache. The thread does not go on
 * before the handler has returned, so the handler must not wait for the lock.
 * The handler leaves the range here, and the next thread that takes the lock calls
 * pred_unmap() for it before anything else. All lookups are under the lock: hence no use
 * that begins after the handler has unmapped memory finds a registration of that memory.
 *
 * The same holds for a handler that interrupts a thread in its lane (lanes.h), since the
 * owner of the lock waits for that thread. So handlers in several threads may defer
 * ranges at the same time, and a handler may interrupt another handler: each handler
 * takes a number before it writes its range, and marks the range as written afterwards.
 */


/*
 * A range was unmapped that has bytes in common with the known range of an extent. The
 * known range counts, and not only the registered one, since the helper may register any
 * of it later. If the unmapped bytes are outside of the present registration, or of the
 * last one, the region stays good for uses of the rest: only its known range is cut. But
 * the region of a burst goes as a whole: the rest of its slices may have another one.
 * Under lock.
 *
 * @return whether the extent has changed; 0: it was stale already.
 */
static int extent_unmap(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_extent_t *extent,
                        const ucs_rcache_pred_range_t *unmapped)
{
    if (extent->stale) {
        return 0;
    }

    if (!ucs_rcache_pred_range_overlaps(&extent->range, unmapped) &&
        !ucs_rcache_pred_extent_is_burst(extent)) {
        ucs_rcache_pred_extent_cut(&pred->table, extent, unmapped);
        return 1;
    }

    pred_make_stale(pred, extent);
    ++pred->stats.unmapped;
    return 1;
}

int pred_unmap(ucs_rcache_pred_t *pred, const ucs_rcache_pred_range_t *unmapped)
{
    uint64_t before = pred->stats.unmapped;
    int found       = 0;
    ucs_rcache_pred_extent_t *extent, *next;

    for (extent = ucs_rcache_pred_table_overlap(&pred->table, NULL, unmapped,
                                                UCS_RCACHE_PRED_RANGE_KNOWN);
         extent != NULL; extent = next) {
        /* Find the next extent first: extent_unmap() may move this one in the tree */
        next   = ucs_rcache_pred_table_overlap(&pred->table, extent, unmapped,
                                               UCS_RCACHE_PRED_RANGE_KNOWN);
        found |= extent_unmap(pred, extent, unmapped);
    }

    /* On demand, a region is freed at the end of its last use, so that no region may be
     * found here. But a receiver of events has to hear that used memory is unmapped. */
    found |= pred_is_on_demand(pred) && (pred->stats.uses > 0);
    if (found && pred_has_sink(pred)) {
        pred_emit_unmap(pred, unmapped);
    }
    return pred->stats.unmapped > before;
}

void pred_defer(ucs_rcache_pred_t *pred,
                const ucs_rcache_pred_range_t *unmapped)
{
    /* Acquire: pairs with the release in pred_catch_up(), whose thread has read the
     * former range in this place. The interrupted thread may not have synchronized with
     * that thread: it may be in its lane, about to find out that another thread has the
     * lock */
    unsigned number = atomic_fetch_add_explicit(&pred->num_deferred, 1,
                                                memory_order_acquire);

    if (number < PRED_MAX_DEFERRED) {
        pred->deferred.ranges[number] = *unmapped;
        /* Release: the range is read after this */
        atomic_store_explicit(&pred->deferred.is_set[number], 1,
                              memory_order_release);
    }
}

/* Unmap a range that a handler has left. If the handler has not written the range yet,
 * wait for it: the handler runs in a thread in its lane, and itself waits for nobody */
static void catch_up_with(ucs_rcache_pred_t *pred, unsigned number)
{
    _Atomic(int) *is_set = &pred->deferred.is_set[number];
    unsigned spins      = 0;

    /* Acquire: pairs with the release in pred_defer() */
    while (!atomic_load_explicit(is_set, memory_order_acquire)) {
        pred_spin(pred, &spins);
    }

    (void)pred_unmap(pred, &pred->deferred.ranges[number]);
    /* Relaxed: pred_catch_up() sets the number to 0 afterwards, with release */
    ucs_relaxed_store(is_set, 0);
}

void pred_catch_up(ucs_rcache_pred_t *pred)
{
    static const ucs_rcache_pred_range_t everything = {0, UINTPTR_MAX};
    unsigned done = 0;
    unsigned num;

    /* A handler may come meanwhile, in this thread or in a thread in its lane, and add a
     * range: then go on. Release: a handler that takes the same number later finds the
     * flag of the range cleared */
    num = atomic_load_explicit(&pred->num_deferred, memory_order_acquire);
    do {
        for (; done < ucs_min(num, PRED_MAX_DEFERRED); ++done) {
            catch_up_with(pred, done);
        }
        if (num > PRED_MAX_DEFERRED) {
            (void)pred_unmap(pred, &everything);
        }
    } while (!atomic_compare_exchange_strong_explicit(
            &pred->num_deferred, &num, 0, memory_order_acq_rel,
            memory_order_acquire));
}
