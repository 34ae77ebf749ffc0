/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "report_rank.h"
#include "report_curve.h"

#include <tools/predreg/common/eager_costs.h>
#include <tools/replay/replay.h>
#include <uct/ib/predreg/core/knobs.h>

#include <string.h>


/* The results of a rank */
typedef struct {
    predreg_replay_result_t results[PREDREG_REPLAY_LAST];
    unsigned                num_results;
    predreg_replay_result_t bounds[PREDREG_MAX_TRIED];
    unsigned                num_bounds;
    predreg_replay_result_t larger; /* Predict, with more KNOWN_REGIONS */
    predreg_budgets_t       budgets;
    predreg_outcome_t       curve[PREDREG_BUDGETS_MAX];
    predreg_outcome_t       larger_curve[PREDREG_BUDGETS_MAX]; /* As larger */
    uint64_t                known_regions;
    uint64_t                larger_regions; /* 0: there is no need for more
                                               regions, and neither is
                                               played */
    int                     has_larger;     /* Whether larger was played */
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
            continue; /* It would be predict once more */
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

/* If a rank has more buffers than predict remembers, find out how many times
 * the default is enough: 2, 4, 8, ... */
static ucs_status_t find_larger(const predreg_timeline_t *timeline,
                                const predreg_evidence_t *evidence,
                                played_rank_t *played)
{
    uint64_t buffers = evidence->buffers;
    predreg_replay_params_t params;
    ucs_status_t status;
    uint64_t regions;

    status = predreg_replay_params_default(timeline, PREDREG_REPLAY_PREDICT,
                                           &params);
    if (status != UCS_OK) {
        return status;
    }

    played->known_regions = params.cache.known_regions;
    if ((buffers <= played->known_regions) ||
        (buffers > UCT_PREDREG_MAX_ENTRIES / 2)) {
        return UCS_OK;
    }

    regions = played->known_regions;
    while (regions < buffers) {
        regions *= 2;
    }
    played->larger_regions = regions;
    return UCS_OK;
}

/* If a rank has more buffers than predict remembers by default, replay it under
 * predict with as many regions as it needs */
static ucs_status_t play_larger(const predreg_timeline_t *timeline,
                                played_rank_t *played)
{
    predreg_replay_params_t params;
    ucs_status_t status;

    if (played->larger_regions == 0) {
        return UCS_OK;
    }

    status = predreg_replay_params_default(timeline, PREDREG_REPLAY_PREDICT,
                                           &params);
    if (status != UCS_OK) {
        return status;
    }

    params.cache.known_regions = played->larger_regions;
    status                     = predreg_replay(timeline, &params,
                                                &played->larger);
    played->has_larger         = (status == UCS_OK);
    return status;
}

/* Replay a rank under all policies and bounds of which a report tells. The
 * budgets of its curve are played elsewhere, see report_curve.c */
static ucs_status_t play_but_curve(const predreg_timeline_t *timeline,
                                   played_rank_t *played)
{
    ucs_status_t status;

    status = play_policies(timeline, played);
    if (status == UCS_OK) {
        status = play_bounds(timeline, played);
    }

    return (status == UCS_OK) ? play_larger(timeline, played) : status;
}

static ucs_status_t play_rank(const predreg_timeline_t *timeline,
                              const predreg_evidence_t *evidence,
                              played_rank_t *played)
{
    predreg_report_curve_t *curve;
    ucs_status_t status;

    memset(played, 0, sizeof(*played));
    status = find_larger(timeline, evidence, played);
    if (status != UCS_OK) {
        return status;
    }

    status = predreg_report_curve_start(timeline, played->larger_regions,
                                        &curve);
    if (status != UCS_OK) {
        return status;
    }

    status = play_but_curve(timeline, played);
    if (status == UCS_OK) {
        status = predreg_report_curve_finish(curve, &played->budgets,
                                             played->curve,
                                             played->larger_curve);
    }

    predreg_report_curve_destroy(curve);
    return status;
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
    if (played->has_larger) {
        predreg_replay_result_cleanup(&played->larger);
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
    double fraction;

    status = uct_predreg_knobs_default(&knobs);
    if (status != UCS_OK) {
        return status;
    }

    fraction = knobs.eager_fraction / 100;
    uct_predreg_knobs_cleanup(&knobs);

    status = predreg_evidence_find(timeline, &evidence);
    if (status != UCS_OK) {
        return status;
    }

    status = play_rank(timeline, &evidence, &played);
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
            .known_regions  = played.known_regions,
            .larger         = played.has_larger ? &played.larger : NULL,
            .larger_curve   = played.larger_curve,
            .larger_regions = played.larger_regions,
            .small_costs    = (predreg_eager_costs_find(trace, &small) ==
                               NULL) ? &small : NULL,
            .eager_fraction = fraction
        });
    }

    cleanup_played(&played);
    return status;
}
