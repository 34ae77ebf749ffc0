/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h" /* _GNU_SOURCE: cpu_set_t */
#endif

#include "node_access.h"

#include <ucs/node/node_int.h>


ucs_status_t test_node_join_as(const ucs_rcache_pred_node_params_t *params,
                               uint64_t key, ucs_rcache_pred_procid_t self,
                               ucs_rcache_pred_node_t **node_p)
{
    return pred_node_join_as(params, key, self, node_p);
}

int test_node_exists(uint64_t key)
{
    ucs_rcache_pred_segment_id_t id = pred_node_segment_id(key);
    ucs_rcache_pred_segment_header_t *segment;

    segment = ucs_rcache_pred_segment_find(&id,
                                           sizeof(ucs_rcache_pred_node_shm_t));
    if (segment == NULL) {
        return 0;
    }

    ucs_rcache_pred_segment_detach(segment);
    return 1;
}

unsigned test_node_reap(ucs_rcache_pred_node_t *node)
{
    return pred_node_reap(node);
}

unsigned test_node_num_slots(void)
{
    return UCS_RCACHE_PRED_NODE_SLOTS;
}

unsigned test_node_num_used(ucs_rcache_pred_node_t *node)
{
    return atomic_load(&node->shm->num_used);
}

unsigned test_node_slot(ucs_rcache_pred_node_t *node)
{
    return node->slot - node->shm->slots;
}

uint64_t test_node_token(ucs_rcache_pred_node_t *node)
{
    return node->self;
}

void test_node_die(ucs_rcache_pred_node_t *node)
{
    pred_node_close(node);
}

uint64_t test_node_owner(ucs_rcache_pred_node_t *node, unsigned slot)
{
    return atomic_load(&node->shm->slots[slot].owner);
}

void test_node_set_owner(ucs_rcache_pred_node_t *node, unsigned slot,
                         uint64_t owner)
{
    if (slot >= atomic_load(&node->shm->num_used)) {
        atomic_store(&node->shm->num_used, slot + 1);
    }
    atomic_store(&node->shm->slots[slot].owner, owner);
}

void test_node_set_bytes(ucs_rcache_pred_node_t *node, unsigned slot,
                         uint64_t bytes)
{
    atomic_store(&node->shm->slots[slot].bytes, bytes);
}

int test_node_is_clear(ucs_rcache_pred_node_t *node, unsigned slot)
{
    const unsigned char *bytes = (unsigned char*)&node->shm->slots[slot];
    unsigned sum               = 0;
    unsigned i;

    for (i = 0; i < sizeof(node->shm->slots[slot]); ++i) {
        sum += bytes[i];
    }

    return sum == 0;
}

void test_node_set_usable(ucs_rcache_pred_node_t *node, const cpu_set_t *usable)
{
    node->usable = *usable;
    pred_slot_set_cpus(node->slot->usable, usable);
}

void test_node_update_at(ucs_rcache_pred_node_t *node, uint64_t now, uint64_t demand,
                         uint64_t busy, ucs_rcache_pred_node_seat_t *seat)
{
    pred_node_update_at(node, now, demand, busy, seat);
}
