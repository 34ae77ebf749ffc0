/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "policies.h"

#include <tools/replay/sim/sim.h>


ucs_status_t predreg_replay_on_demand(const predreg_timeline_t *timeline,
                                      const predreg_replay_params_t *params,
                                      predreg_replay_result_t *result)
{
    predreg_sim_params_t sim = {
        .reg    = params->reg,
        .dereg  = params->dereg,
        .wakeup = params->wakeup,
        .cache  = params->cache
    };
    ucs_rcache_pred_stats_t stats;

    sim.cache.policy = UCS_RCACHE_PRED_POLICY_ON_DEMAND;
    sim.cache.pieces = 0; /* Only the policy predict registers in pieces */
    return predreg_sim_replay(timeline, &sim, result, &stats);
}
