/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "policies.h"

#include <tools/replay/models/ucx_cache.h>


/* If no limit is given, it is half the number of regions that leave-pinned has
 * at most, but at least one region */
ucs_status_t predreg_replay_regions(const predreg_timeline_t *timeline,
                                    const predreg_replay_params_t *params,
                                    predreg_replay_result_t *result)
{
    predreg_ucx_cache_params_t cache = {
        .reg         = params->reg,
        .dereg       = params->dereg,
        .max_bytes   = UINT64_MAX,
        .max_regions = params->limit
    };
    uint64_t peak_regions;
    ucs_status_t status;

    status = predreg_ucx_cache_set_limits(timeline, &cache);
    if (status != UCS_OK) {
        return status;
    }

    result->limit = cache.max_regions;
    return predreg_ucx_cache_replay(timeline, &cache, result, &peak_regions);
}
