/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "policies.h"

#include <tools/replay/models/ucx_cache.h>


/* If no limit is given, it is half the number of bytes that leave-pinned has
 * registered at most, but at least one byte */
ucs_status_t predreg_replay_lru(const predreg_timeline_t *timeline,
                                const predreg_replay_params_t *params,
                                predreg_replay_result_t *result)
{
    predreg_ucx_cache_params_t cache = {
        .reg         = params->reg,
        .dereg       = params->dereg,
        .max_bytes   = params->limit,
        .max_regions = UINT64_MAX
    };
    uint64_t peak_regions;
    ucs_status_t status;

    status = predreg_ucx_cache_set_limits(timeline, &cache);
    if (status != UCS_OK) {
        return status;
    }

    result->limit = cache.max_bytes;
    return predreg_ucx_cache_replay(timeline, &cache, result, &peak_regions);
}
