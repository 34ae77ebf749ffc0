/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "report_rank.h"

#include <tools/predreg/common/trace_files.h>
#include <tools/replay/replay.h>
#include <uct/ib/predreg/core/knobs.h>

#include <string.h>


/* The results of a rank */
typedef struct {
    predreg_replay_result_t results[PREDREG_REPLAY_LAST];
    unsigned                num_results;
    predreg_replay_result_t bounds[PREDREG_MAX_TRIED];
    unsigned                num_bounds;
    predreg_budgets_t       budgets;
    predreg_outcome_t       curve[PREDREG_BUDGETS_MAX];
} played_rank_t;


/* Replay a rank under every policy */
static ucs_status_t play_policies(const predreg_timeline_t *timeline,
                                  played_rank_t *played)
{
    predreg_replay_params_t params;
    ucs_status_t status;
    unsigned policy;

    for (policy = 0; policy < PREDREG_REPLAY_LAST; ++policy) {
        if ((policy == PREDREG_REPLAY_ARENA) && (timeline->num_maps == 0)) {
            continue; /* The same as predict */
        }

        status = predreg_replay_params_default(timeline, policy, &params);
        if (status != UCS_OK) {
            return status;
        }

        status = predreg_replay(timeline, &params,
                                &played->results[played->num_results]);
        if (status == UCS_OK) {
            ++played->num_results;
        } else if (status != UCS_ERR_UNSUPPORTED) {
            return status;
        }
    }

    return UCS_OK;
}

/* Replay a rank with several bounds on UCX's own cache */
static ucs_status_t play_bounds(const predreg_timeline_t *timeline,
                                played_rank_t *played)
{
    uint64_t peak = 0;
    uint64_t limits[PREDREG_MAX_TRIED];
    predreg_replay_params_t params;
    ucs_status_t status;
    unsigned i, count;

    for (i = 0; i < played->num_results; ++i) {
        if (played->results[i].policy == PREDREG_REPLAY_LEAVE_PINNED) {
            peak = played->results[i].pinned.peak_bytes;
        }
    }

    status = predreg_replay_params_default(timeline, PREDREG_REPLAY_LRU,
                                           &params);
    if (status != UCS_OK) {
        return status;
    }

    count = predreg_bounds_to_try(peak, limits);
    for (i = 0; i < count; ++i) {
        params.limit = limits[i];
        status       = predreg_replay(timeline, &params, &played->bounds[i]);
        if (status != UCS_OK) {
            return status;
        }
        ++played->num_bounds;
    }

    return UCS_OK;
}

/* Replay a rank under predict with each budget, by a helper on the program's processor */
static ucs_status_t play_curve(const predreg_timeline_t *timeline,
                               played_rank_t *played)
{
    predreg_budgets_t *budgets = &played->budgets;
    predreg_replay_params_t params;
    predreg_replay_result_t result;
    ucs_status_t status;
    unsigned i;

    status = predreg_replay_params_default(timeline, PREDREG_REPLAY_PREDICT,
                                           &params);
    if (status != UCS_OK) {
        return status;
    }

    params.shared = 1;
    predreg_budgets_list(params.cache.budget, budgets);
    for (i = 0; i < budgets->num; ++i) {
        status = predreg_budgets_play(timeline, &params, budgets->rates[i], &result);
        if (status != UCS_OK) {
            return status;
        }
        predreg_outcome_add(&played->curve[i], &result);
        predreg_replay_result_cleanup(&result);
    }

    return UCS_OK;
}

static ucs_status_t play_rank(const predreg_timeline_t *timeline,
                              played_rank_t *played)
{
    ucs_status_t status;

    memset(played, 0, sizeof(*played));
    status = play_policies(timeline, played);
    if (status == UCS_OK) {
        status = play_bounds(timeline, played);
    }
    return (status == UCS_OK) ? play_curve(timeline, played) : status;
}

static void cleanup_played(played_rank_t *played)
{
    unsigned i;

    for (i = 0; i < played->num_results; ++i) {
        predreg_replay_result_cleanup(&played->results[i]);
    }
    for (i = 0; i < played->num_bounds; ++i) {
        predreg_replay_result_cleanup(&played->bounds[i]);
    }
}

ucs_status_t predreg_report_play(predreg_report_t *report,
                                 const ucs_rcache_trace_t *trace,
                                 const predreg_timeline_t *timeline,
                                 const predreg_cost_t *own_reg)
{
    ucs_reuse_costs_t small;
    predreg_evidence_t evidence;
    uct_predreg_knobs_t knobs;
    played_rank_t played;
    ucs_status_t status;
    uint64_t regions;
    double fraction;

    status = uct_predreg_knobs_default(&knobs);
    if (status != UCS_OK) {
        return status;
    }

    fraction = knobs.eager_fraction / 100;
    regions  = knobs.known_regions;
    uct_predreg_knobs_cleanup(&knobs);

    status = predreg_evidence_find(timeline, &evidence);
    if (status != UCS_OK) {
        return status;
    }

    status = play_rank(timeline, &played);
    if (status == UCS_OK) {
        status = predreg_report_add(report, &(predreg_report_rank_t){
            .trace          = trace,
            .timeline       = timeline,
            .evidence       = &evidence,
            .results        = played.results,
            .num_results    = played.num_results,
            .bounds         = played.bounds,
            .num_bounds     = played.num_bounds,
            .budgets        = &played.budgets,
            .curve          = played.curve,
            .own_reg        = own_reg,
            .known_regions  = regions,
            .small_costs    = predreg_trace_costs(trace, &small) ? &small : NULL,
            .eager_fraction = fraction
        });
    }

    cleanup_played(&played);
    return status;
}
