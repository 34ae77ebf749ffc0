/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "node_int.h"

#include <ucs/debug/log_def.h>

#include <stdlib.h>
#include <string.h>

/* The sign of life of all simulated processes: none of them looks whether another one has
 * died */
#define ALIVE 1


static ucs_rcache_pred_node_shm_t *shm_create(void)
{
    ucs_rcache_pred_node_shm_t *shm = aligned_alloc(_Alignof(*shm), sizeof(*shm));

    if (shm != NULL) {
        memset(shm, 0, sizeof(*shm));
    }
    return shm;
}

/* Let the next simulated process join. @return NULL if there is no memory */
static ucs_rcache_pred_node_t *
add_process(const ucs_rcache_pred_node_params_t *params, ucs_rcache_pred_node_shm_t *shm)
{
    ucs_rcache_pred_node_t *node = calloc(1, sizeof(*node));

    if (node == NULL) {
        return NULL;
    }

    node->params = *params;
    node->self   = ALIVE;
    node->shm    = shm;
    node->slot   = &shm->slots[atomic_fetch_add(&shm->num_used, 1)];
    atomic_store(&node->slot->owner, ALIVE);
    return node;
}

ucs_status_t
ucs_rcache_pred_node_simulate(const ucs_rcache_pred_node_params_t *params, unsigned num,
                              ucs_rcache_pred_node_t **nodes)
{
    ucs_rcache_pred_node_shm_t *shm;
    ucs_status_t status;
    unsigned i;

    if (num > UCS_RCACHE_PRED_NODE_SLOTS) {
        ucs_error("%u processes on a node are too many; accepted: up to %u", num,
                  UCS_RCACHE_PRED_NODE_SLOTS);
        return UCS_ERR_NO_RESOURCE;
    }

    shm = shm_create();
    if (shm == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    for (i = 0; i < num; ++i) {
        nodes[i] = add_process(params, shm);
        if (nodes[i] == NULL) {
            status = UCS_ERR_NO_MEMORY;
            goto err_free;
        }

        status = pred_node_hold_reserve(nodes[i]);
        if (status != UCS_OK) {
            free(nodes[i]);
            goto err_free;
        }
    }

    return UCS_OK;

err_free:
    while (i-- > 0) {
        free(nodes[i]);
    }
    free(shm);
    return status;
}

void ucs_rcache_pred_node_simulate_leave(ucs_rcache_pred_node_t *node)
{
    pred_slot_free(node->slot);
}

void ucs_rcache_pred_node_simulate_end(ucs_rcache_pred_node_t **nodes, unsigned num)
{
    unsigned i;

    free(nodes[0]->shm);
    for (i = 0; i < num; ++i) {
        free(nodes[i]);
    }
}
