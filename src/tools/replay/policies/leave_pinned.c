/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "policies.h"

#include <tools/replay/models/ucx_cache.h>


ucs_status_t predreg_replay_leave_pinned(const predreg_timeline_t *timeline,
                                         const predreg_replay_params_t *params,
                                         predreg_replay_result_t *result)
{
    const predreg_ucx_cache_params_t cache = {
        .reg         = params->reg,
        .dereg       = params->dereg,
        .max_bytes   = UINT64_MAX,
        .max_regions = UINT64_MAX
    };
    uint64_t peak_regions;

    return predreg_ucx_cache_replay(timeline, &cache, result, &peak_regions);
}
