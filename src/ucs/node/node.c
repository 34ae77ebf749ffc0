/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "cpus.h"
#include "node_int.h"

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Times that room is asked for before the dead are looked for, since others who
 * ask as well, and will be refused, may be in the way. Few: on a crowded node
 * each yield in between may cost a time slice. */
#define RESERVE_ATTEMPTS 2

/* The most one process can have without a bound: its numbers must not wrap */
#define SLOT_MAX (UINT64_MAX / 2)


static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return (a + b < a) ? UINT64_MAX : (a + b);
}

/* Slots that have had an owner */
static unsigned num_used_slots(ucs_rcache_pred_node_t *node)
{
    return ucs_min(atomic_load(&node->shm->num_used),
                   UCS_RCACHE_PRED_NODE_SLOTS);
}

void ucs_rcache_pred_node_get_totals(ucs_rcache_pred_node_t *node,
                                     ucs_rcache_pred_node_totals_t *totals)
{
    unsigned num_used = num_used_slots(node);
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

/* Add to a number of the own slot, but not beyond max */
static int slot_add(_Atomic uint64_t *word, uint64_t value, uint64_t max)
{
    uint64_t old = atomic_load(word);

    do {
        if ((value > max) || (old > max - value)) {
            return 0;
        }
    } while (!atomic_compare_exchange_weak(word, &old, old + value));

    return 1;
}

/* One attempt, see node_int.h */
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

static int reserve(ucs_rcache_pred_node_t *node, uint64_t bytes,
                   uint64_t regions)
{
    unsigned i;

    for (i = 0; i < RESERVE_ATTEMPTS; ++i) {
        if (i > 0) {
            sched_yield();
        }

        if (try_reserve(node, bytes, regions)) {
            return 1;
        }
    }

    pred_node_reap(node);
    return try_reserve(node, bytes, regions);
}

int ucs_rcache_pred_node_reserve(ucs_rcache_pred_node_t *node, uint64_t bytes,
                                 uint64_t regions)
{
    if ((bytes > ucs_min(node->params.max_bytes, SLOT_MAX)) ||
        (regions > ucs_min(node->params.max_regions, SLOT_MAX))) {
        return 0; /* Whatever the others give up */
    }

    if (reserve(node, bytes, regions)) {
        return 1;
    }

    /* Release: who sees the sum knows which part of it is ours */
    atomic_fetch_add_explicit(&node->own_asks, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&node->shm->asks, 1, memory_order_release);
    return 0;
}

void ucs_rcache_pred_node_release(ucs_rcache_pred_node_t *node, uint64_t bytes,
                                  uint64_t regions)
{
    atomic_fetch_sub(&node->slot->regions, regions);
    atomic_fetch_sub(&node->slot->bytes, bytes);
}

int ucs_rcache_pred_node_is_asked(ucs_rcache_pred_node_t *node)
{
    uint64_t asks, others, seen;

    /* Acquire: own_asks is not older than the own part of asks. If it is newer,
     * this finds less than it could, and the next call the rest. */
    asks   = atomic_load_explicit(&node->shm->asks, memory_order_acquire);
    others = asks - atomic_load_explicit(&node->own_asks, memory_order_relaxed);
    seen   = atomic_load_explicit(&node->asks_seen, memory_order_relaxed);
    return ((int64_t)(others - seen) > 0) &&
           atomic_compare_exchange_strong_explicit(&node->asks_seen, &seen,
                                                   others, memory_order_relaxed,
                                                   memory_order_relaxed);
}

/* By the owner */
static void slot_set_affinity(ucs_rcache_pred_node_slot_t *slot,
                              const cpu_set_t *affinity)
{
    uint64_t words[UCS_RCACHE_PRED_NODE_CPU_WORDS];
    unsigned i;

    memcpy(words, affinity, sizeof(words));
    for (i = 0; i < UCS_RCACHE_PRED_NODE_CPU_WORDS; ++i) {
        atomic_store_explicit(&slot->affinity[i], words[i],
                              memory_order_relaxed);
    }
}

static void slot_get_affinity(ucs_rcache_pred_node_slot_t *slot,
                              cpu_set_t *affinity)
{
    uint64_t words[UCS_RCACHE_PRED_NODE_CPU_WORDS];
    unsigned i;

    for (i = 0; i < UCS_RCACHE_PRED_NODE_CPU_WORDS; ++i) {
        words[i] = atomic_load_explicit(&slot->affinity[i],
                                        memory_order_relaxed);
    }
    memcpy(affinity, words, sizeof(words));
}

/* By the owner, whose last word it is */
static void slot_free(ucs_rcache_pred_node_slot_t *slot)
{
    cpu_set_t none;

    CPU_ZERO(&none);
    slot_set_affinity(slot, &none);
    atomic_store_explicit(&slot->demand, 0, memory_order_relaxed);
    atomic_store(&slot->regions, 0);
    atomic_store(&slot->bytes, 0);
    atomic_store_explicit(&slot->owner, 0, memory_order_release);
}

unsigned pred_node_reap(ucs_rcache_pred_node_t *node)
{
    unsigned num_used = num_used_slots(node);
    unsigned count    = 0;
    ucs_rcache_pred_node_slot_t *slot;
    uint64_t owner;
    unsigned i;

    for (i = 0; i < num_used; ++i) {
        slot  = &node->shm->slots[i];
        owner = atomic_load_explicit(&slot->owner, memory_order_relaxed);
        if ((owner == 0) || (owner == node->self) ||
            !ucs_rcache_pred_procid_is_dead(owner)) {
            continue;
        }

        /* Acquire: comes after what another one did who died clearing it */
        if (atomic_compare_exchange_strong_explicit(&slot->owner, &owner,
                                                    node->self,
                                                    memory_order_acquire,
                                                    memory_order_relaxed)) {
            slot_free(slot);
            ++count;
        }
    }

    return count;
}

static int slot_take(ucs_rcache_pred_node_t *node, unsigned index)
{
    ucs_rcache_pred_node_slot_t *slot = &node->shm->slots[index];
    uint32_t num_used                 = atomic_load(&node->shm->num_used);
    uint64_t owner                    = 0;

    while ((num_used < index + 1) &&
           !atomic_compare_exchange_weak(&node->shm->num_used, &num_used,
                                         index + 1)) {
    }

    return atomic_compare_exchange_strong_explicit(&slot->owner, &owner,
                                                   node->self,
                                                   memory_order_acquire,
                                                   memory_order_relaxed);
}

static ucs_status_t take_any_slot(ucs_rcache_pred_node_t *node)
{
    unsigned i;

    pred_node_reap(node);
    for (i = 0; i < UCS_RCACHE_PRED_NODE_SLOTS; ++i) {
        if (slot_take(node, i)) {
            node->slot = &node->shm->slots[i];
            return UCS_OK;
        }
    }

    ucs_error("the node has %d processes with predictive registration already, "
              "no more are accepted", UCS_RCACHE_PRED_NODE_SLOTS);
    return UCS_ERR_NO_RESOURCE;
}

static ucs_status_t hold_reserve(ucs_rcache_pred_node_t *node)
{
    ucs_rcache_pred_node_totals_t totals;

    /* Nothing fits even if others, with another bound, have more than ours */
    if (((node->params.reserve == 0) && (node->params.reserve_regions == 0)) ||
        reserve(node, node->params.reserve, node->params.reserve_regions)) {
        return UCS_OK;
    }

    ucs_rcache_pred_node_get_totals(node, &totals);
    ucs_error("a reserve of %" PRIu64 " bytes and %" PRIu64 " regions does not "
              "fit the node's bound of %" PRIu64 " bytes and %" PRIu64
              " regions: its %u other "
              "processes have %" PRIu64 " bytes and %" PRIu64 " regions",
              node->params.reserve, node->params.reserve_regions,
              node->params.max_bytes,
              node->params.max_regions, totals.procs - 1, totals.bytes,
              totals.regions);
    return UCS_ERR_EXCEEDS_LIMIT;
}

ucs_rcache_pred_segment_id_t pred_node_segment_id(uint64_t key)
{
    ucs_rcache_pred_segment_id_t id = {
        .magic   = UCS_RCACHE_PRED_NODE_MAGIC,
        .version = UCS_RCACHE_PRED_NODE_VERSION,
        .key     = key
    };

    return id;
}

ucs_status_t pred_node_join_as(const ucs_rcache_pred_node_params_t *params,
                               uint64_t key, ucs_rcache_pred_procid_t self,
                               ucs_rcache_pred_node_t **node_p)
{
    ucs_rcache_pred_segment_id_t id = pred_node_segment_id(key);
    ucs_rcache_pred_segment_header_t *segment;
    ucs_rcache_pred_node_t *node;
    ucs_status_t status;
    cpu_set_t affinity;

    node = calloc(1, sizeof(*node));
    if (node == NULL) {
        ucs_error("failed to allocate %zu bytes", sizeof(*node));
        status = UCS_ERR_NO_MEMORY;
        goto err;
    }

    status = ucs_rcache_pred_segment_attach(&id, sizeof(*node->shm), &segment);
    if (status != UCS_OK) {
        goto err_free;
    }

    node->params = *params;
    node->self   = self;
    node->shm    = (ucs_rcache_pred_node_shm_t*)segment;
    status       = take_any_slot(node);
    if (status != UCS_OK) {
        goto err_detach;
    }

    status = hold_reserve(node);
    if (status != UCS_OK) {
        goto err_free_slot;
    }

    /* Until the first update */
    if (sched_getaffinity(0, sizeof(affinity), &affinity) == 0) {
        slot_set_affinity(node->slot, &affinity);
    }

    ucs_rcache_pred_cpus_usable(&node->usable);
    atomic_store_explicit(&node->asks_seen, atomic_load(&node->shm->asks),
                          memory_order_relaxed);
    *node_p = node;
    return UCS_OK;

err_free_slot:
    slot_free(node->slot);
err_detach:
    ucs_rcache_pred_segment_detach(segment);
err_free:
    free(node);
err:
    return status;
}

/* Pids, socket names and start times mean the same to processes with the same
 * name spaces only; others meet in another segment */
static uint64_t name_spaces(void)
{
    static const char *const paths[] = {
        "/proc/self/ns/pid", "/proc/self/ns/net", "/proc/self/ns/user",
        "/proc/self/ns/time"
    };
    uint64_t key = 0;
    struct stat st;
    unsigned i;

    for (i = 0; i < ucs_static_array_size(paths); ++i) {
        key = (key * 0x100000001b3ull) +
              ((stat(paths[i], &st) == 0) ? st.st_ino : 0);
    }

    return key;
}

ucs_status_t
ucs_rcache_pred_node_join(const ucs_rcache_pred_node_params_t *params,
                          ucs_rcache_pred_node_t **node_p)
{
    ucs_rcache_pred_procid_t self = ucs_rcache_pred_procid_self();

    if (self == 0) {
        ucs_error("failed to read /proc/self/stat, by which the processes of a "
                  "node know each other");
        return UCS_ERR_UNSUPPORTED;
    }

    return pred_node_join_as(params, name_spaces(), self, node_p);
}

void ucs_rcache_pred_node_abandon(ucs_rcache_pred_node_t *node)
{
    ucs_rcache_pred_segment_detach(&node->shm->header);
    free(node);
}

void ucs_rcache_pred_node_leave(ucs_rcache_pred_node_t *node)
{
    slot_free(node->slot);
    ucs_rcache_pred_node_abandon(node);
}

/* All processes; returns how many of them, at least the own one */
static unsigned get_users(ucs_rcache_pred_node_t *node, unsigned max_users,
                          ucs_rcache_pred_cpu_user_t *users, unsigned *self_p)
{
    unsigned count = 0;
    ucs_rcache_pred_node_slot_t *slot;
    unsigned i;

    for (i = 0; i < max_users; ++i) {
        slot = &node->shm->slots[i];
        if (slot == node->slot) {
            *self_p = count;
        } else if (atomic_load_explicit(&slot->owner, memory_order_relaxed) ==
                   0) {
            continue;
        }

        slot_get_affinity(slot, &users[count].affinity);
        users[count].demand = atomic_load_explicit(&slot->demand,
                                                   memory_order_relaxed);
        ++count;
    }

    return count;
}

/* Without memory to find out more: expect the worst */
static void seat_last(ucs_rcache_pred_node_t *node, const cpu_set_t *affinity,
                      ucs_rcache_pred_node_seat_t *seat)
{
    ucs_rcache_pred_node_totals_t totals;

    ucs_rcache_pred_node_get_totals(node, &totals);
    seat->procs     = totals.procs;
    seat->idle_cpus = 0;
    seat->rank      = totals.procs - 1;
    seat->sharers   = totals.procs;
    seat->cpus      = *affinity;
}

void ucs_rcache_pred_node_update(ucs_rcache_pred_node_t *node,
                                 const cpu_set_t *affinity, uint64_t demand,
                                 ucs_rcache_pred_node_seat_t *seat)
{
    unsigned self = 0;
    ucs_rcache_pred_cpu_user_t *users;
    unsigned num_used, num_users;

    slot_set_affinity(node->slot, affinity);
    atomic_store_explicit(&node->slot->demand, demand, memory_order_relaxed);
    pred_node_reap(node);

    num_used = num_used_slots(node);
    users    = malloc(num_used * sizeof(*users));
    if (users == NULL) {
        seat_last(node, affinity, seat);
        return;
    }

    num_users = get_users(node, num_used, users, &self);
    ucs_rcache_pred_cpus_seat(&node->usable, users, num_users, self, seat);
    free(users);
}
