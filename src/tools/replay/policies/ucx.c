/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "policies.h"

#include <tools/replay/models/ucx_cache.h>

/*
 * The policies of UCX's own cache: leave-pinned, which is without a limit, and
 * lru and regions, which limit the bytes or the number of regions.
 */


/* Play the cache with these limits. A limit of 0 is replaced by half of what
 * leave-pinned has at most, but at least 1 */
static ucs_status_t replay(const predreg_timeline_t *timeline,
                           const predreg_replay_params_t *params,
                           uint64_t max_bytes, uint64_t max_regions,
                           predreg_ucx_cache_params_t *cache,
                           predreg_replay_result_t *result)
{
    predreg_ucx_cache_peaks_t peaks;
    ucs_status_t status;

    *cache = (predreg_ucx_cache_params_t){
        .reg         = params->reg,
        .dereg       = params->dereg,
        .max_bytes   = max_bytes,
        .max_regions = max_regions
    };

    status = predreg_ucx_cache_set_limits(timeline, cache);
    return (status == UCS_OK) ?
           predreg_ucx_cache_replay(timeline, cache, result, &peaks) :
           status;
}

ucs_status_t predreg_replay_leave_pinned(const predreg_timeline_t *timeline,
                                         const predreg_replay_params_t *params,
                                         predreg_replay_result_t *result)
{
    predreg_ucx_cache_params_t cache;

    return replay(timeline, params, UINT64_MAX, UINT64_MAX, &cache, result);
}

ucs_status_t predreg_replay_lru(const predreg_timeline_t *timeline,
                                const predreg_replay_params_t *params,
                                predreg_replay_result_t *result)
{
    predreg_ucx_cache_params_t cache;
    ucs_status_t status;

    status = replay(timeline, params, params->limit, UINT64_MAX, &cache,
                    result);
    result->limit = cache.max_bytes;
    return status;
}

ucs_status_t predreg_replay_regions(const predreg_timeline_t *timeline,
                                    const predreg_replay_params_t *params,
                                    predreg_replay_result_t *result)
{
    predreg_ucx_cache_params_t cache;
    ucs_status_t status;

    status = replay(timeline, params, UINT64_MAX, params->limit, &cache,
                    result);
    result->limit = cache.max_regions;
    return status;
}
