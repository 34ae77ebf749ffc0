/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "slot.h"

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <string.h>

/* How many slots a refusal looks at. Each takes a system call of 0.3 us. With
 * more processes, a dead one is found by one of the next refusals, or by an
 * update, which looks at all */
#define REAP_SOME 16


unsigned pred_node_num_used(ucs_rcache_pred_node_t *node)
{
    return ucs_min(atomic_load(&node->shm->num_used),
                   UCS_RCACHE_PRED_NODE_SLOTS);
}

void pred_slot_set_cpus(_Atomic(uint64_t) *words, const cpu_set_t *cpus)
{
    uint64_t values[UCS_RCACHE_PRED_NODE_CPU_WORDS];
    unsigned i;

    memcpy(values, cpus, sizeof(values));
    for (i = 0; i < UCS_RCACHE_PRED_NODE_CPU_WORDS; ++i) {
        atomic_store_explicit(&words[i], values[i], memory_order_relaxed);
    }
}

void pred_slot_get_cpus(const _Atomic(uint64_t) *words, cpu_set_t *cpus)
{
    uint64_t values[UCS_RCACHE_PRED_NODE_CPU_WORDS];
    unsigned i;

    for (i = 0; i < UCS_RCACHE_PRED_NODE_CPU_WORDS; ++i) {
        values[i] = atomic_load_explicit(&words[i], memory_order_relaxed);
    }
    memcpy(cpus, values, sizeof(values));
}

void pred_slot_free(ucs_rcache_pred_node_slot_t *slot)
{
    cpu_set_t none;

    CPU_ZERO(&none);
    pred_slot_set_cpus(slot->affinity, &none);
    pred_slot_set_cpus(slot->usable, &none);
    atomic_store_explicit(&slot->demand, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->helper, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->helper_seen, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->seat, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->procid, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->names, 0, memory_order_relaxed);
    atomic_store(&slot->regions, 0);
    atomic_store(&slot->bytes, 0);
    atomic_store_explicit(&slot->owner, 0, memory_order_release);
}

/* Whether the owner of a slot has nothing registered any more. node_int.h says
 * why */
static int slot_is_dead(ucs_rcache_pred_node_t *node,
                        ucs_rcache_pred_node_slot_t *slot, uint64_t owner)
{
    uint64_t procid, names;

    if (!ucs_rcache_pred_token_is_gone(owner)) {
        return 0;
    }

    procid = atomic_load_explicit(&slot->procid, memory_order_relaxed);
    names  = atomic_load_explicit(&slot->names, memory_order_relaxed);
    if ((procid == 0) || (names != node->names)) {
        return 1;
    }

    /* If it is this very process, it has run another program since */
    return (procid == node->procid) || ucs_rcache_pred_procid_is_dead(procid);
}

/* Take back a slot, if its owner is dead. @return whether it was taken back. */
static int slot_reap(ucs_rcache_pred_node_t *node,
                     ucs_rcache_pred_node_slot_t *slot)
{
    uint64_t owner = atomic_load_explicit(&slot->owner, memory_order_relaxed);

    if ((owner == 0) || (owner == node->self) ||
        !slot_is_dead(node, slot, owner)) {
        return 0;
    }

    /* Acquire: another process may have died while it cleared the slot; what
     * follows here comes after all that the other process had done */
    if (!atomic_compare_exchange_strong_explicit(&slot->owner, &owner,
                                                 node->self,
                                                 memory_order_acquire,
                                                 memory_order_relaxed)) {
        return 0;
    }

    pred_slot_free(slot);
    return 1;
}

unsigned pred_node_reap(ucs_rcache_pred_node_t *node)
{
    unsigned num_used = pred_node_num_used(node);
    unsigned count    = 0;
    unsigned i;

    for (i = 0; i < num_used; ++i) {
        count += slot_reap(node, &node->shm->slots[i]);
    }

    return count;
}

unsigned pred_node_reap_some(ucs_rcache_pred_node_t *node)
{
    unsigned num_used = pred_node_num_used(node);
    unsigned some     = ucs_min(num_used, REAP_SOME);
    unsigned count    = 0;
    unsigned hand, i;

    hand = atomic_fetch_add_explicit(&node->reap_hand, some,
                                     memory_order_relaxed);
    for (i = 0; i < some; ++i) {
        count += slot_reap(node, &node->shm->slots[(hand + i) % num_used]);
    }

    return count;
}

/* Become the owner of a slot. @return 0 if it has another one. */
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

ucs_status_t pred_slot_take_any(ucs_rcache_pred_node_t *node)
{
    unsigned i;

    pred_node_reap(node);
    for (i = 0; i < UCS_RCACHE_PRED_NODE_SLOTS; ++i) {
        if (slot_take(node, i)) {
            node->slot = &node->shm->slots[i];
            atomic_store_explicit(&node->slot->names, node->names,
                                  memory_order_relaxed);
            atomic_store_explicit(&node->slot->procid, node->procid,
                                  memory_order_relaxed);
            return UCS_OK;
        }
    }

    ucs_error("the node has %d processes with predictive registration already, "
              "no more are accepted", UCS_RCACHE_PRED_NODE_SLOTS);
    return UCS_ERR_NO_RESOURCE;
}
