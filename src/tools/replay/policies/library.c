/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "policies.h"

#include <tools/replay/sim/sim.h>
#include <uct/ib/predreg/core/knobs.h>

#include <ucs/sys/math.h>

/*
 * The policies of this library's own cache: predict and on-demand, and predict
 * with an arena.
 */

/* As large as the arena is where nobody says how large it is to be, bytes: more
 * than programs map. Only what they map is counted */
#define MAX_ARENA (256ul << 30)


static ucs_status_t replay(const predreg_timeline_t *timeline,
                           const predreg_replay_params_t *params,
                           ucs_rcache_pred_policy_t policy, size_t arena,
                           predreg_replay_result_t *result)
{
    predreg_sim_params_t sim = {
        .reg    = params->reg,
        .dereg  = params->dereg,
        .shared = params->shared,
        .wakeup = params->wakeup,
        .cache  = params->cache,
        .arena  = arena
    };
    ucs_rcache_pred_stats_t stats;
    ucs_status_t status;

    /* The library takes smaller slabs for a small arena, too */
    sim.arena_first = params->arena_first;
    sim.arena_slab  = params->arena_slab;
    while ((sim.arena_slab > arena) &&
           (sim.arena_slab > UCT_PREDREG_MIN_SLAB)) {
        sim.arena_slab /= 2;
    }
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
    return replay(timeline, params, UCS_RCACHE_PRED_POLICY_PREDICT, 0, result);
}

ucs_status_t predreg_replay_on_demand(const predreg_timeline_t *timeline,
                                      const predreg_replay_params_t *params,
                                      predreg_replay_result_t *result)
{
    return replay(timeline, params, UCS_RCACHE_PRED_POLICY_ON_DEMAND, 0,
                  result);
}

ucs_status_t predreg_replay_arena(const predreg_timeline_t *timeline,
                                  const predreg_replay_params_t *params,
                                  predreg_replay_result_t *result)
{
    size_t size = (params->limit == 0) ? MAX_ARENA :
                                         ucs_min(params->limit, MAX_ARENA);
    ucs_status_t status;

    /* Of a program without such mappings it would be predict, with a slab that
     * nobody uses */
    if (timeline->num_maps == 0) {
        size = 0;
    }

    status = replay(timeline, params, UCS_RCACHE_PRED_POLICY_PREDICT, size,
                    result);
    if ((size > 0) && (params->limit > 0)) {
        result->limit = size;
    }
    return status;
}
