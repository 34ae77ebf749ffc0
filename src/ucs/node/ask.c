/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "node.h"
#include "node_int.h"

#include <ucs/base/clock.h>
#include <ucs/base/relaxed.h>
#include <ucs/sys/math.h>

/* A process with less than its equal share asks for this part, 1/8, of the difference at a
 * time: the others answer within 4 ms, and so it has most of its share after some 50 ms, as
 * long as it needs the keys */
#define ASK_PART 8

/* A process with about its equal share asks only for memory that stays idle for ASK_TIMES as
 * long as the memory that it has given up itself: idle times are estimates */
#define ASK_TIMES 2

/* How long an ask counts, ns: longer than others take to answer. After that the process that
 * has asked may have ended, or need no more */
#define ASK_LASTS 100000000

/*
 * Processes ask each other for room within the bounds of the node, or for keys of a
 * device, and give back what they have. Any thread.
 */


/* @return by how much a sum would exceed its maximum with @a more added; 0 if it would
 *         not */
static uint64_t missing(uint64_t sum, uint64_t more, uint64_t max)
{
    sum = (sum + more < sum) ? UINT64_MAX : (sum + more);
    return (sum > max) ? (sum - max) : 0;
}

/* Take room that was given back, or that a helper has offered, off the wanted
 * room. Usually no room is wanted. @return whether room was wanted. */
static int satisfy(_Atomic(uint64_t) *wanted, uint64_t value)
{
    uint64_t old = ucs_relaxed_load(wanted);

    while ((old > 0) &&
           !ucs_relaxed_cas(wanted, &old, old - ucs_min(old, value))) {
    }

    return (old > 0) && (value > 0);
}

/* @return the wanted keys of a device, or, for the number UCS_RCACHE_PRED_NODE_DEVICES, the
 *         wanted room */
static pred_node_wanted_t *wanted_of(const ucs_rcache_pred_node_t *node, unsigned device)
{
    return (device < UCS_RCACHE_PRED_NODE_DEVICES) ?
           &node->shm->devices[device].wanted : &node->shm->wanted;
}

/* @return whether an ask counts: it is younger than ASK_LASTS, and other processes have not
 *         yet offered all that it is for */
static int is_wanted(const pred_node_wanted_t *wanted)
{
    return ((ucs_relaxed_load(&wanted->bytes) > 0) ||
            (ucs_relaxed_load(&wanted->regions) > 0)) &&
           (ucs_monotonic_ns() < ucs_relaxed_load(&wanted->time) + ASK_LASTS);
}

/* Note what is missing. If another ask counts already, the ask with the smaller idle time
 * wins: it is for a sooner use. @return whether this ask has won, or is equal */
static int note_wanted(pred_node_wanted_t *wanted, uint64_t bytes,
                       uint64_t regions, uint64_t idle)
{
    int is_missing = is_wanted(wanted);
    uint64_t old   = ucs_relaxed_load(&wanted->idle);

    if (is_missing && (old < idle)) {
        return 0;
    }

    if (is_missing && (old == idle)) {
        ucs_relaxed_raise(&wanted->bytes, bytes);
        ucs_relaxed_raise(&wanted->regions, regions);
    } else {
        ucs_relaxed_store(&wanted->bytes, bytes);
        ucs_relaxed_store(&wanted->regions, regions);
    }
    ucs_relaxed_store(&wanted->idle, idle);
    ucs_relaxed_store(&wanted->time, ucs_monotonic_ns());
    return 1;
}

/* Wake the threads of other processes that sleep */
static void wake_others(ucs_rcache_pred_node_t *node)
{
    unsigned num_used = pred_node_num_used(node);
    ucs_rcache_pred_node_slot_t *slot;
    unsigned i;

    for (i = 0; i < num_used; ++i) {
        slot = &node->shm->slots[i];
        if ((slot != node->slot) && (atomic_load(&slot->sleeps) != 0) &&
            (atomic_exchange(&slot->sleeps, 0) != 0)) {
            sem_post(&slot->wakeups);
        }
    }
}

sem_t *ucs_rcache_pred_node_wakeups(ucs_rcache_pred_node_t *node)
{
    sem_init(&node->slot->wakeups, 1, 0);
    node->has_thread = 1;
    return &node->slot->wakeups;
}

/* @return how many asks of other processes there were */
static uint64_t other_asks(ucs_rcache_pred_node_t *node)
{
    /* Acquire, by sequential consistency: own_asks is at least as new as this process's
     * part of asks. If it is newer, this call finds fewer asks of other processes than
     * there are, and the next call finds the rest. */
    uint64_t asks = atomic_load(&node->shm->asks);

    return asks - ucs_relaxed_load(&node->own_asks);
}

int ucs_rcache_pred_node_may_sleep(ucs_rcache_pred_node_t *node)
{
    if (!node->has_thread) {
        return 0;
    }

    atomic_store(&node->slot->sleeps, 1);
    return (int64_t)(other_asks(node) - ucs_relaxed_load(&node->asks_seen)) <= 0;
}

/* Ask the other processes to give up what is wanted, unless that is wanted already for
 * memory that will be used sooner */
static void want(ucs_rcache_pred_node_t *node, unsigned device, uint64_t bytes,
                 uint64_t regions, uint64_t idle)
{
    if (!note_wanted(wanted_of(node, device), bytes, regions, idle)) {
        return;
    }

    /* Release, by sequential consistency: a thread that sees the new value of asks sees
     * what is wanted; and a thread of this process sees the new value of own_asks as
     * well, and does not take the ask for another process's */
    ucs_relaxed_add(&node->own_asks, 1);
    atomic_fetch_add(&node->shm->asks, 1);
    wake_others(node);
}

void ucs_rcache_pred_node_ask(ucs_rcache_pred_node_t *node, uint64_t bytes,
                              uint64_t regions, uint64_t idle)
{
    const ucs_rcache_pred_node_params_t *params = &node->params;
    ucs_rcache_pred_node_totals_t totals;

    if (ucs_rcache_pred_node_never_fits(node, bytes, regions)) {
        return;
    }

    ucs_rcache_pred_node_get_totals(node, &totals);
    bytes   = missing(totals.bytes, bytes, params->max_bytes);
    regions = missing(totals.regions, regions, params->max_regions);
    if ((bytes == 0) && (regions == 0)) {
        return; /* There is room by now */
    }

    want(node, UCS_RCACHE_PRED_NODE_DEVICES, bytes, regions, idle);
}

int ucs_rcache_pred_node_ask_keys(ucs_rcache_pred_node_t *node, unsigned device,
                                  uint64_t idle)
{
    uint64_t own = ucs_relaxed_load(&node->slot->keys[device]);
    ucs_rcache_pred_node_keys_t keys;
    uint64_t share, excess;

    ucs_rcache_pred_node_get_keys(node, device, &keys);
    if (keys.keys <= own) {
        return 0;
    }

    share = ucs_min(keys.limit, keys.keys) / keys.procs;
    if (own >= share - (share / ASK_PART)) {
        idle *= ASK_TIMES;
    }

    excess = missing(keys.keys, 0, keys.limit);
    want(node, device, 0, ucs_max(excess, missing(share, 0, own) / ASK_PART) + 1, idle);
    return 1;
}

int ucs_rcache_pred_node_offer(ucs_rcache_pred_node_t *node, unsigned device,
                               uint64_t bytes, uint64_t regions)
{
    pred_node_wanted_t *wanted = wanted_of(node, device);

    return satisfy(&wanted->regions, regions) |
           satisfy(&wanted->bytes, bytes);
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
    satisfy(&node->shm->wanted.regions, regions);
    satisfy(&node->shm->wanted.bytes, bytes);
}

int ucs_rcache_pred_node_is_asked(ucs_rcache_pred_node_t *node)
{
    uint64_t others = other_asks(node);
    uint64_t seen   = ucs_relaxed_load(&node->asks_seen);

    return ((int64_t)(others - seen) > 0) &&
           ucs_relaxed_cas(&node->asks_seen, &seen, others);
}

int ucs_rcache_pred_node_lacks(const ucs_rcache_pred_node_t *node, unsigned device,
                               uint64_t *idle)
{
    const pred_node_wanted_t *wanted = wanted_of(node, device);

    *idle = ucs_relaxed_load(&wanted->idle);
    return is_wanted(wanted);
}
