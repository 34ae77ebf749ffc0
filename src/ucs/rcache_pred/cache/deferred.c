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
 * It leaves the range here, and whoever takes the lock next unmaps it before
 * anything else. All lookups are under the lock: hence no use that begins after
 * the handler has unmapped memory finds a registration of that memory.
 *
 * The same holds for a thread that is in its lane (lanes.h), for which whoever has
 * the lock waits. So several threads may defer at a time, and a handler may
 * interrupt another one: each takes a number before it writes its range, and
 * marks it as written after that.
 */


/*
 * Unmap a range that has bytes in common with what is known of an extent. What
 * counts is all that may be registered later, not only what is registered now:
 * the helper registers all that was used recently. If what is unmapped is
 * beyond the present registration, or beyond the last one, the region is still
 * good for uses of the rest. Under lock.
 *
 * @return whether any byte that might be registered was unmapped.
 */
static int extent_unmap(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_extent_t *extent,
                        const ucs_rcache_pred_range_t *unmapped)
{
    if (extent->stale) {
        return 0;
    }

    if (!ucs_rcache_pred_range_overlaps(&extent->range, unmapped)) {
        ucs_rcache_pred_extent_cut(&pred->table, extent, unmapped);
        return 1;
    }

    extent->stale = 1;
    pred_unguard(pred, extent);
    ucs_rcache_pred_region_clear(&pred->table, ucs_rcache_pred_region_of(extent));
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
        /* Before the extent gets another place in the tree */
        next   = ucs_rcache_pred_table_overlap(&pred->table, extent, unmapped,
                                               UCS_RCACHE_PRED_RANGE_KNOWN);
        found |= extent_unmap(pred, extent, unmapped);
    }

    /* On demand, regions are forgotten with their uses. Only the recording
     * shows that memory which was used is no longer the same. */
    found |= pred_is_on_demand(pred) && (pred->stats.uses > 0);
    if (found && pred_has_sink(pred)) {
        pred_emit_unmap(pred, unmapped);
    }
    return pred->stats.unmapped > before;
}

void pred_defer(ucs_rcache_pred_t *pred,
                const ucs_rcache_pred_range_t *unmapped)
{
    /* Acquire: pairs with the release in pred_catch_up(), whose thread has read
     * what was in the place. The thread that was interrupted need not have seen
     * that: it may be about to find out that another one has the lock */
    unsigned number = atomic_fetch_add_explicit(&pred->num_deferred, 1,
                                                memory_order_acquire);

    if (number < PRED_MAX_DEFERRED) {
        pred->deferred.ranges[number] = *unmapped;
        /* Release: the range is read after this */
        atomic_store_explicit(&pred->deferred.is_set[number], 1,
                              memory_order_release);
    }
}

/* Unmap a range that a handler has left, or is about to: its thread is in its
 * lane, and waits for nobody */
static void catch_up_with(ucs_rcache_pred_t *pred, unsigned number)
{
    _Atomic(int) *is_set = &pred->deferred.is_set[number];
    unsigned spins      = 0;

    /* Acquire: pairs with the release in pred_defer() */
    while (!atomic_load_explicit(is_set, memory_order_acquire)) {
        pred_spin(pred, &spins);
    }

    (void)pred_unmap(pred, &pred->deferred.ranges[number]);
    /* Relaxed: the number is set to 0 after it */
    atomic_store_explicit(is_set, 0, memory_order_relaxed);
}

void pred_catch_up(ucs_rcache_pred_t *pred)
{
    static const ucs_rcache_pred_range_t everything = {0, UINTPTR_MAX};
    unsigned done = 0;
    unsigned num;

    /* A handler may come meanwhile, to this thread or to one in its lane: then
     * there are more. Release: who takes a number anew finds its flag cleared */
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
