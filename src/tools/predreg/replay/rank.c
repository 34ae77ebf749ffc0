/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "replay_int.h"

#include <tools/predreg/common/command.h>

#include <stdlib.h>
#include <string.h>

/** @file rank.c
 *
 * With what parameters a rank is replayed, and what is kept of its result; and the replay
 * of all ranks together, under the bounds of a node.
 */


void predreg_job_params(const predreg_replay_opts_t *opts,
                        const predreg_timeline_t *timeline,
                        predreg_replay_policy_t policy, predreg_replay_params_t *params)
{
    predreg_replay_params_default(timeline, policy, params);
    uct_predreg_knobs_to_params(&opts->knobs, &params->cache);
    params->limit  = opts->limits[policy];
    params->shared = opts->shared_processor;
    if (opts->reg.is_given) {
        params->reg = opts->reg.cost;
    }
    if (opts->dereg.is_given) {
        params->dereg = opts->dereg.cost;
    }
    if (opts->policies_given) {
        params->max_steps = UINT64_MAX; /* A policy that the user has named may take
                                           any time */
    }
}

void predreg_job_keep(const predreg_replay_opts_t *opts, ucs_status_t status,
                      predreg_replay_result_t *result)
{
    if (status != UCS_OK) {
        memset(result, 0, sizeof(*result)); /* After an error, the result has nothing
                                               that must be freed */
    } else if (opts->num_ranks == 0) {
        predreg_replay_result_shrink(result);
    }
}

int predreg_job_has_node_bound(const predreg_replay_opts_t *opts)
{
    return (opts->knobs.node_max_pinned != UINT64_MAX) ||
           (opts->knobs.node_max_regions != UINT64_MAX);
}

int predreg_job_is_together(const predreg_replay_opts_t *opts, unsigned policy)
{
    return predreg_job_has_node_bound(opts) &&
           ((policy == PREDREG_REPLAY_PREDICT) || (policy == PREDREG_REPLAY_ON_DEMAND));
}

/* Replay all ranks under a policy with a budget, and write the results of the ranks */
static ucs_status_t
replay_together(const predreg_replay_opts_t *opts, const predreg_job_t *job,
                predreg_timeline_t *const *timelines, predreg_replay_policy_t policy,
                double budget, predreg_replay_result_t *results)
{
    const ucs_rcache_pred_node_params_t bounds = {
        .max_bytes       = opts->knobs.node_max_pinned,
        .max_regions     = opts->knobs.node_max_regions,
        .reserve         = ucs_rcache_pred_pieces_reserve(PREDREG_PAGE_SIZE),
        .reserve_regions = UCS_RCACHE_PRED_NODE_RESERVE_REGIONS,
        .bytes_name      = "NODE_MAX_PINNED",
        .regions_name    = "NODE_MAX_REGIONS"
    };
    predreg_together_t *ranks = predreg_alloc(job->num_ranks, sizeof(*ranks));
    ucs_status_t status;
    size_t i;

    for (i = 0; i < job->num_ranks; ++i) {
        ranks[i].timeline = timelines[job->ranks[i].order];
        ranks[i].start    = job->offsets[i];
        ranks[i].result   = &results[i];
        predreg_job_params(opts, ranks[i].timeline, policy, &ranks[i].params);
        ranks[i].params.cache.budget = budget;
    }

    status = predreg_replay_together(ranks, job->num_ranks, &bounds);
    for (i = 0; i < job->num_ranks; ++i) {
        predreg_job_keep(opts, (status == UCS_OK) ? ranks[i].status : status,
                         &results[i]);
    }
    for (i = 0; (i < job->num_ranks) && (status == UCS_OK); ++i) {
        status = ranks[i].status;
    }
    free(ranks);
    if (status != UCS_OK) {
        predreg_error("replay: %s cannot be replayed for all ranks together: %s",
                      predreg_policies[policy].name, ucs_status_string(status));
    }
    return status;
}

ucs_status_t predreg_job_replay_node(const predreg_replay_opts_t *opts,
                                     const predreg_job_t *job,
                                     predreg_timeline_t *const *timelines)
{
    ucs_status_t status = UCS_OK;
    unsigned index;

    for (index = 0; (index < PREDREG_JOB_RESULTS) && (status == UCS_OK); ++index) {
        if (job->results[index] == NULL) {
            continue;
        }

        if (index >= PREDREG_REPLAY_LAST) {
            status = replay_together(opts, job, timelines, PREDREG_REPLAY_PREDICT,
                                     opts->budgets.rates[index - PREDREG_REPLAY_LAST],
                                     job->results[index]);
        } else if (predreg_job_is_together(opts, index)) {
            status = replay_together(opts, job, timelines, index,
                                     opts->knobs.budget / 100, job->results[index]);
        }
    }
    return status;
}
