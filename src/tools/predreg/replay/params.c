/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "params.h"


ucs_status_t predreg_replay_opts_params(const predreg_replay_opts_t *opts,
                                        const predreg_timeline_t *timeline,
                                        predreg_replay_policy_t policy,
                                        predreg_replay_params_t *params)
{
    ucs_status_t status;

    status = predreg_replay_params_default(timeline, policy, params);
    if (status != UCS_OK) {
        return status;
    }

    uct_predreg_knobs_to_params(&opts->knobs, &params->cache);
    params->limit  = opts->limits[policy];
    params->shared = opts->shared_processor;
    if (opts->reg_given) {
        params->reg = opts->reg;
    }
    if (opts->dereg_given) {
        params->dereg = opts->dereg;
    }
    if (opts->policies_given) {
        params->max_steps = UINT64_MAX; /* The user wants it */
    }
    return UCS_OK;
}
