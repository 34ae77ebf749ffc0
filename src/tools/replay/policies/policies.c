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
 * The table of policies, and the function of the policies of this library's own cache:
 * predict, on-demand, and arena, which is predict with an arena.
 */

/* The default size of the arena, bytes. No program maps more memory, and an arena of this
 * size costs nothing, as only mapped memory counts */
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

/* @return the size of the arena, bytes, or 0 for no arena: the policy has none, or the
 *         program has no large mappings and would leave the arena's first slab unused. */
static size_t arena_size(const predreg_timeline_t *timeline,
                         const predreg_replay_params_t *params)
{
    if ((params->policy != PREDREG_REPLAY_ARENA) || (timeline->num_maps == 0)) {
        return 0;
    }

    return (params->limit == 0) ? MAX_ARENA : ucs_min(params->limit, MAX_ARENA);
}

ucs_status_t predreg_replay_cache(const predreg_timeline_t *timeline,
                                  const predreg_replay_params_t *params,
                                  predreg_replay_result_t *result)
{
    int predicts                    = params->policy != PREDREG_REPLAY_ON_DEMAND;
    predreg_replay_params_t changed = *params;
    ucs_rcache_pred_stats_t stats;
    ucs_status_t status;

    changed.limit = arena_size(timeline, params);
    /* Of the policy arena, bound_bytes is the size of the arena */
    predreg_replay_result_bounds(result,
                                 (params->policy == PREDREG_REPLAY_ARENA) ?
                                         UINT64_MAX : params->cache.max_bytes,
                                 params->cache.max_regions);
    if (predicts) {
        changed.cache.policy = UCS_RCACHE_PRED_POLICY_PREDICT;
        result->budget       = params->cache.budget;
    } else {
        changed.cache.policy = UCS_RCACHE_PRED_POLICY_ON_DEMAND;
    }

    status = predreg_sim_replay(timeline, &changed, result, &stats);
    if (predicts && (status == UCS_OK)) {
        result->spent = stats.budget_spent;
    }
    if ((changed.limit > 0) && (params->limit > 0)) {
        result->bound_bytes = changed.limit;
    }
    return status;
}
