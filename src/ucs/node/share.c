/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "share.h"
#include "slot.h"

#include <ucs/base/wait.h>
#include <ucs/sys/math.h>

#include <string.h>

/* Room is asked for so many times before the dead are looked for: others that
 * ask at the same time, and will be refused, may be in the way. Few times,
 * since each yield in between may cost a time slice on a crowded node. */
#define RESERVE_ATTEMPTS 2

/* The most one process can have without a bound: its numbers must not wrap */
#define SLOT_MAX (UINT64_MAX / 2)


static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return (a + b < a) ? UINT64_MAX : (a + b);
}

void ucs_rcache_pred_node_get_totals(ucs_rcache_pred_node_t *node,
                                     ucs_rcache_pred_node_totals_t *totals)
{
    unsigned num_used = pred_node_num_used(node);
    ucs_rcache_pred_node_slot_t *slot;
    unsigned i;

    memset(totals, 0, sizeof(*totals));
    for (i = 0; i < num_used; ++i) {
        slot             = &node->shm->slots[i];
        totals->bytes    = add_saturated(totals->bytes,
                                         atomic_load(&slot->bytes));
        totals->regions  = add_saturated(totals->regions,
                                         atomic_load(&slot->regions));
        totals->procs   += (atomic_load_explicit(&slot->owner,
                                                 memory_order_relaxed) != 0);
    }
}

/* Add to a number of the own slot. @return 0 if the sum would exceed max: then
 * the number stays as it was. */
static int slot_add(_Atomic(uint64_t) *word, uint64_t value, uint64_t max)
{
    uint64_t old = atomic_load(word);

    do {
        if ((value > max) || (old > max - value)) {
            return 0;
        }
    } while (!atomic_compare_exchange_weak(word, &old, old + value));

    return 1;
}

/* Ask once. node_int.h says why the bound is kept. */
static int try_reserve(ucs_rcache_pred_node_t *node, uint64_t bytes,
                       uint64_t regions)
{
    uint64_t max_bytes   = node->params.max_bytes;
    uint64_t max_regions = node->params.max_regions;
    ucs_rcache_pred_node_totals_t totals;

    if (!slot_add(&node->slot->bytes, bytes, ucs_min(max_bytes, SLOT_MAX))) {
        return 0;
    }

    if (!slot_add(&node->slot->regions, regions,
                  ucs_min(max_regions, SLOT_MAX))) {
        goto err_sub_bytes;
    }

    if ((max_bytes == UCS_RCACHE_PRED_NODE_UNLIMITED) &&
        (max_regions == UCS_RCACHE_PRED_NODE_UNLIMITED)) {
        return 1;
    }

    ucs_rcache_pred_node_get_totals(node, &totals);
    if ((totals.bytes <= max_bytes) && (totals.regions <= max_regions)) {
        return 1;
    }

    atomic_fetch_sub(&node->slot->regions, regions);
err_sub_bytes:
    atomic_fetch_sub(&node->slot->bytes, bytes);
    return 0;
}

int pred_node_reserve(ucs_rcache_pred_node_t *node, uint64_t bytes,
                      uint64_t regions)
{
    unsigned i;

    for (i = 0; i < RESERVE_ATTEMPTS; ++i) {
        if (i > 0) {
            ucs_give_way(NULL);
        }

        if (try_reserve(node, bytes, regions)) {
            return 1;
        }
    }

    return (pred_node_reap_some(node) > 0) &&
           try_reserve(node, bytes, regions);
}

int ucs_rcache_pred_node_reserve(ucs_rcache_pred_node_t *node, uint64_t bytes,
                                 uint64_t regions)
{
    return pred_node_reserve(node, bytes, regions);
}

/* Whether so much is above a bound of which a part is held already */
static int never_fits(uint64_t more, uint64_t max, uint64_t held)
{
    return (more > 0) && (more > ucs_min(max, SLOT_MAX) - held);
}

int ucs_rcache_pred_node_never_fits(const ucs_rcache_pred_node_t *node,
                                    uint64_t bytes, uint64_t regions)
{
    const ucs_rcache_pred_node_params_t *params = &node->params;

    /* The reserve fits the bounds: this process has joined */
    return never_fits(bytes, params->max_bytes, params->reserve) ||
           never_fits(regions, params->max_regions, params->reserve_regions);
}

/* By how much a sum is above its maximum, if so much is added to it */
static uint64_t missing(uint64_t sum, uint64_t more, uint64_t max)
{
    sum = add_saturated(sum, more);
    return (sum > max) ? (sum - max) : 0;
}

/* Let no less be wanted than this */
static void want(_Atomic(uint64_t) *wanted, uint64_t value)
{
    uint64_t old = atomic_load_explicit(wanted, memory_order_relaxed);

    while ((old < value) &&
           !atomic_compare_exchange_weak_explicit(wanted, &old, value,
                                                  memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
}

/* Take what was given back, or will be, off what is wanted. Usually nothing is.
 * @return whether anything was. */
static int satisfy(_Atomic(uint64_t) *wanted, uint64_t value)
{
    uint64_t old = atomic_load_explicit(wanted, memory_order_relaxed);

    while ((old > 0) &&
           !atomic_compare_exchange_weak_explicit(wanted, &old,
                                                  old - ucs_min(old, value),
                                                  memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }

    return (old > 0) && (value > 0);
}

void ucs_rcache_pred_node_ask(ucs_rcache_pred_node_t *node, uint64_t bytes,
                              uint64_t regions)
{
    ucs_rcache_pred_node_totals_t totals;

    if (ucs_rcache_pred_node_never_fits(node, bytes, regions)) {
        return;
    }

    ucs_rcache_pred_node_get_totals(node, &totals);
    want(&node->shm->wanted_bytes,
         missing(totals.bytes, bytes, node->params.max_bytes));
    want(&node->shm->wanted_regions,
         missing(totals.regions, regions, node->params.max_regions));

    /* Release: a thread of this process that sees the new value of asks also
     * sees the new value of own_asks, so that it does not take this ask for one
     * of another process; and whoever sees it sees what is wanted */
    atomic_fetch_add_explicit(&node->own_asks, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&node->shm->asks, 1, memory_order_release);
}

int ucs_rcache_pred_node_offer(ucs_rcache_pred_node_t *node, uint64_t bytes,
                               uint64_t regions)
{
    return satisfy(&node->shm->wanted_regions, regions) |
           satisfy(&node->shm->wanted_bytes, bytes);
}

void ucs_rcache_pred_node_release_offered(ucs_rcache_pred_node_t *node,
                                          uint64_t bytes, uint64_t regions)
{
    atomic_fetch_sub(&node->slot->regions, regions);
    atomic_fetch_sub(&node->slot->bytes, bytes);
}

void ucs_rcache_pred_node_release(ucs_rcache_pred_node_t *node, uint64_t bytes,
                                  uint64_t regions)
{
    ucs_rcache_pred_node_release_offered(node, bytes, regions);
    satisfy(&node->shm->wanted_regions, regions);
    satisfy(&node->shm->wanted_bytes, bytes);
}

int ucs_rcache_pred_node_is_asked(ucs_rcache_pred_node_t *node)
{
    uint64_t asks, others, seen;

    /* Acquire: own_asks is at least as new as the own part of asks. If it is
     * newer, fewer asks of others are found than there are, and the next call
     * finds the rest. */
    asks   = atomic_load_explicit(&node->shm->asks, memory_order_acquire);
    others = asks - atomic_load_explicit(&node->own_asks, memory_order_relaxed);
    seen   = atomic_load_explicit(&node->asks_seen, memory_order_relaxed);
    if (((int64_t)(others - seen) <= 0) ||
        !atomic_compare_exchange_strong_explicit(&node->asks_seen, &seen,
                                                 others, memory_order_relaxed,
                                                 memory_order_relaxed)) {
        return 0;
    }

    /* Relaxed: numbers. If they are 0, others have given back enough since */
    return (atomic_load_explicit(&node->shm->wanted_bytes,
                                 memory_order_relaxed) > 0) ||
           (atomic_load_explicit(&node->shm->wanted_regions,
                                 memory_order_relaxed) > 0);
}
