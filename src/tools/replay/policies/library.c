/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "policies.h"

#include <tools/replay/sim/sim.h>

/*
 * The policies of this library's own cache: predict and on-demand.
 */


static ucs_status_t replay(const predreg_timeline_t *timeline,
                           const predreg_replay_params_t *params,
                           ucs_rcache_pred_policy_t policy,
                           predreg_replay_result_t *result)
{
    predreg_sim_params_t sim = {
        .reg    = params->reg,
        .dereg  = params->dereg,
        .shared = params->shared,
        .wakeup = params->wakeup,
        .cache  = params->cache
    };
    ucs_rcache_pred_stats_t stats;
    ucs_status_t status;

    sim.cache.policy = policy;
    if (policy != UCS_RCACHE_PRED_POLICY_PREDICT) {
        sim.cache.pieces = 0; /* Only predict registers in pieces */
    }
    status = predreg_sim_replay(timeline, &sim, result, &stats);
    if ((status == UCS_OK) && (policy == UCS_RCACHE_PRED_POLICY_PREDICT)) {
        result->spent = stats.budget_spent;
    }
    return status;
}

ucs_status_t predreg_replay_predict(const predreg_timeline_t *timeline,
                                    const predreg_replay_params_t *params,
                                    predreg_replay_result_t *result)
{
    return replay(timeline, params, UCS_RCACHE_PRED_POLICY_PREDICT, result);
}

ucs_status_t predreg_replay_on_demand(const predreg_timeline_t *timeline,
                                      const predreg_replay_params_t *params,
                                      predreg_replay_result_t *result)
{
    return replay(timeline, params, UCS_RCACHE_PRED_POLICY_ON_DEMAND, result);
}
