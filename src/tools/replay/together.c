/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "replay.h"
#include "policies/sim.h"

#include <tools/base/memory.h>

#include <stdlib.h>


static void play_rank(void *arg)
{
    predreg_together_t *rank = arg;

    rank->status = predreg_replay(rank->timeline, &rank->params, rank->result);
    ucs_rcache_pred_node_simulate_leave(rank->params.cache.node);
}

/* Play all ranks, each of which has joined the node */
static void play(predreg_together_t *ranks, size_t num, ucs_rcache_pred_node_t **nodes)
{
    predreg_flow_t *flows = predreg_alloc(num, sizeof(*flows));
    size_t i;

    for (i = 0; i < num; ++i) {
        ranks[i].params.flow       = &flows[i];
        ranks[i].params.cache.node = nodes[i];
        flows[i].func              = play_rank;
        flows[i].arg               = &ranks[i];
        flows[i].start             = ranks[i].start;
    }
    predreg_flows_run(flows, num);
    free(flows);
}

ucs_status_t predreg_replay_together(predreg_together_t *ranks, size_t num,
                                     const ucs_rcache_pred_node_params_t *bounds)
{
    ucs_rcache_pred_node_t **nodes = predreg_alloc(num, sizeof(*nodes));
    ucs_status_t status;

    status = ucs_rcache_pred_node_simulate(bounds, num, nodes);
    if (status == UCS_OK) {
        play(ranks, num, nodes);
        ucs_rcache_pred_node_simulate_end(nodes, num);
    }
    free(nodes);
    return status;
}
