/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "policies.h"
#include "sim.h"

#include <ucs/sys/math.h>

#include <string.h>

/*
 * The table of policies, and the policies of this library's own cache: predict
 * and on-demand, and predict with an arena.
 */

/* The default size of the arena, bytes: no program maps more. Only mapped
 * memory counts */
#define MAX_ARENA (256ul << 30)


const predreg_limit_kind_t predreg_limit_kinds[PREDREG_LIMIT_LAST] = {
    [PREDREG_LIMIT_BYTES]   = { "BYTES", "64m" },
    [PREDREG_LIMIT_REGIONS] = { "N", "100" }
};

const predreg_policy_t predreg_policies[PREDREG_REPLAY_LAST] = {
#define PREDREG_POLICY_ROW(_number, _func, ...) \
    [PREDREG_REPLAY_##_number] = { \
        .replay = predreg_replay_##_func, \
        __VA_ARGS__ \
    },
#include "rows.h"
};


predreg_replay_policy_t predreg_policy_find(const char *name, size_t length)
{
    unsigned policy;

    for (policy = 0; policy < PREDREG_REPLAY_LAST; ++policy) {
        if ((strlen(predreg_policies[policy].name) == length) &&
            !strncmp(predreg_policies[policy].name, name, length)) {
            break;
        }
    }

    return policy;
}

predreg_replay_policy_t predreg_policy_at(unsigned place)
{
    unsigned policy;

    for (policy = 0; policy < PREDREG_REPLAY_LAST; ++policy) {
        if (predreg_policies[policy].place == place) {
            break;
        }
    }

    return policy;
}

/* Play predict with an arena of this size, bytes; 0: without one */
static ucs_status_t replay_predict(const predreg_timeline_t *timeline,
                                   const predreg_replay_params_t *params,
                                   size_t arena,
                                   predreg_replay_result_t *result)
{
    predreg_replay_params_t changed = *params;
    ucs_rcache_pred_stats_t stats;
    ucs_status_t status;

    changed.limit        = arena;
    changed.cache.policy = UCS_RCACHE_PRED_POLICY_PREDICT;
    result->budget       = params->cache.budget;
    status = predreg_sim_replay(timeline, &changed, result, &stats);
    if (status == UCS_OK) {
        result->spent = stats.budget_spent;
    }
    return status;
}

ucs_status_t predreg_replay_predict(const predreg_timeline_t *timeline,
                                    const predreg_replay_params_t *params,
                                    predreg_replay_result_t *result)
{
    return replay_predict(timeline, params, 0, result);
}

ucs_status_t predreg_replay_arena(const predreg_timeline_t *timeline,
                                  const predreg_replay_params_t *params,
                                  predreg_replay_result_t *result)
{
    size_t size = (params->limit == 0) ? MAX_ARENA :
                                         ucs_min(params->limit, MAX_ARENA);
    ucs_status_t status;

    /* For a program without large mappings the arena would be an unused slab */
    if (timeline->num_maps == 0) {
        size = 0;
    }

    status = replay_predict(timeline, params, size, result);
    if ((size > 0) && (params->limit > 0)) {
        result->limit = size;
    }
    return status;
}

ucs_status_t predreg_replay_on_demand(const predreg_timeline_t *timeline,
                                      const predreg_replay_params_t *params,
                                      predreg_replay_result_t *result)
{
    predreg_replay_params_t changed = *params;
    ucs_rcache_pred_stats_t stats;

    changed.limit        = 0;
    changed.cache.policy = UCS_RCACHE_PRED_POLICY_ON_DEMAND;
    changed.cache.pieces = 0; /* Only predict registers in pieces */
    return predreg_sim_replay(timeline, &changed, result, &stats);
}
