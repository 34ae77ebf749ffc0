/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "replay_int.h"

#include <tools/predreg/common/command.h>
#include <tools/predreg/common/trace_files.h>

#include <stdlib.h>
#include <string.h>

/** @file job.c
 *
 * The results of each policy are an array in the order in which the ranks were loaded,
 * since totals and larger jobs need the results of all ranks together. Once all ranks are
 * loaded, the arrays are sorted by rank.
 */


/* A job while its traces are loaded */
typedef struct {
    const predreg_replay_opts_t *opts;
    predreg_job_t               *job;
    predreg_timeline_t          **timelines; /* Of each loaded rank, where the ranks are
                                                replayed together */
    size_t                      num_timelines;
    int                         is_too_long[PREDREG_REPLAY_LAST];
                                    /* Whether a replay of the policy would take too long
                                       for one of the ranks */
} loader_t;


/* Drop all results of a policy or budget, if there are any */
static void drop_results(predreg_job_t *job, unsigned index)
{
    size_t i;

    if (job->results[index] != NULL) {
        for (i = 0; i <= job->num_ranks; ++i) {
            predreg_replay_result_cleanup(&job->results[index][i]);
        }
        free(job->results[index]);
        job->results[index] = NULL;
    }
}

void predreg_job_cleanup(predreg_job_t *job)
{
    unsigned index;
    size_t i;

    for (index = 0; index < PREDREG_JOB_RESULTS; ++index) {
        drop_results(job, index);
    }

    for (i = 0; i < job->num_ranks; ++i) {
        free(job->ranks[i].path);
    }
    free(job->offsets);
    free(job->ranks);
}

/* Make room for two results of a policy or budget: the result of the rank that will be
 * added next, and the total. Both results are 0.
 * @return the result of the next rank, which moves with the next call. */
static predreg_replay_result_t *add_result(predreg_job_t *job, unsigned index)
{
    predreg_replay_result_t *results;

    results = predreg_check_memory(
            realloc(job->results[index],
                    (job->num_ranks + 2) * sizeof(*results)));
    memset(&results[job->num_ranks], 0, 2 * sizeof(*results));
    job->results[index] = results;
    return &results[job->num_ranks];
}

/* Free the results of the rank that is not added, so that the job is as before the rank */
static void drop_next(predreg_job_t *job)
{
    unsigned index;

    for (index = 0; index < PREDREG_JOB_RESULTS; ++index) {
        if (job->results[index] != NULL) {
            predreg_replay_result_cleanup(
                    &job->results[index][job->num_ranks]);
            memset(&job->results[index][job->num_ranks], 0,
                   sizeof(**job->results));
        }
    }
}

const predreg_replay_result_t *
predreg_job_budget_results(const predreg_job_t *job,
                           const predreg_budgets_t *budgets, unsigned index)
{
    return (index == budgets->usual) ?
           job->results[PREDREG_REPLAY_PREDICT] :
           job->results[PREDREG_REPLAY_LAST + index];
}

static predreg_known_t known(int is_known, int is_page_known)
{
    return is_page_known ? PREDREG_KNOWN_ALL :
           is_known      ? PREDREG_KNOWN_SIZE :
                           PREDREG_KNOWN_NOT;
}

/* Add a rank whose results have been added */
static void add_rank(loader_t *loader, const ucs_rcache_trace_t *trace,
                     unsigned input, const predreg_timeline_t *timeline)
{
    const predreg_replay_opts_t *opts = loader->opts;
    predreg_job_t *job                = loader->job;
    predreg_rank_t *rank;

    rank  = predreg_add(job->ranks, job->num_ranks);
    *rank = (predreg_rank_t){
        .path        = predreg_format("%s", trace->path),
        .number      = predreg_trace_rank(trace),
        .input       = input,
        .order       = job->num_ranks - 1,
        .start       = predreg_rank_start(trace),
        .num_uses    = timeline->num_uses,
        .duration    = timeline->duration,
        .waited      = timeline->waited,
        .reg         = timeline->reg,
        .dereg       = timeline->dereg,
        .reg_known   = known(timeline->reg_known, timeline->reg_page_known),
        .dereg_known = known(timeline->dereg_known, timeline->dereg_page_known),
        .damage      = {.lost = trace->lost, .truncated = trace->truncated}
    };
    rank->damage.guessed = (!opts->reg.is_given &&
                            (rank->reg_known != PREDREG_KNOWN_ALL)) ||
                           (!opts->dereg.is_given &&
                            (rank->dereg_known != PREDREG_KNOWN_ALL));

    job->damage.guessed   |= rank->damage.guessed;
    job->damage.lost      += rank->damage.lost;
    job->damage.truncated |= rank->damage.truncated;
}

/* Replay a rank under a policy, and add the result to the job.
 * @param [in] path  Path of the trace, for messages. */
static ucs_status_t replay_policy(loader_t *loader, const char *path,
                                  const predreg_timeline_t *timeline,
                                  predreg_replay_policy_t policy)
{
    predreg_replay_result_t *result = add_result(loader->job, policy);
    predreg_replay_params_t params;
    ucs_status_t status;

    if (loader->is_too_long[policy] || predreg_job_is_together(loader->opts, policy)) {
        return UCS_OK;
    }

    predreg_progress_part(predreg_policies[policy].name);
    predreg_job_params(loader->opts, timeline, policy, &params);
    status = predreg_replay(timeline, &params, result);
    predreg_job_keep(loader->opts, status, result);
    if (status == UCS_ERR_UNSUPPORTED) {
        loader->is_too_long[policy] = 1;
        return UCS_OK;
    }

    if (status != UCS_OK) {
        predreg_error("replay: %s: %s cannot be replayed: %s", path,
                      predreg_policies[policy].name, ucs_status_string(status));
    }
    return status;
}

/* Replay a rank under predict with each budget of a curve, and add the results to the
 * job. The usual budget is left out, since the policy predict has this result */
static ucs_status_t replay_budgets(loader_t *loader, const char *path,
                                   const predreg_timeline_t *timeline)
{
    const predreg_budgets_t *budgets = &loader->opts->budgets;
    char name[PREDREG_BUDGET_NAME_MAX];
    predreg_replay_params_t params;
    predreg_replay_result_t *result;
    ucs_status_t status = UCS_OK;
    unsigned i;

    predreg_job_params(loader->opts, timeline, PREDREG_REPLAY_PREDICT, &params);
    for (i = 0; (i < budgets->num) && (status == UCS_OK); ++i) {
        if (i == budgets->usual) {
            continue;
        }

        predreg_progress_part("budgets");
        params.cache.budget = budgets->rates[i];

        result = add_result(loader->job, PREDREG_REPLAY_LAST + i);
        if (predreg_job_is_together(loader->opts, PREDREG_REPLAY_PREDICT)) {
            continue;
        }

        status = predreg_replay(timeline, &params, result);
        predreg_job_keep(loader->opts, status, result);
        if (status != UCS_OK) {
            predreg_error("replay: %s: predict with BUDGET=%s cannot be "
                          "replayed: %s", path,
                          predreg_budget_name(budgets->rates[i], name),
                          ucs_status_string(status));
        }
    }

    return status;
}

/* Replay a rank under all policies, and add the results and its small sends to the job */
static ucs_status_t replay_rank(loader_t *loader, const ucs_rcache_trace_t *trace,
                                const predreg_timeline_t *timeline)
{
    const predreg_replay_opts_t *opts = loader->opts;
    ucs_status_t status               = UCS_OK;
    ucs_reuse_costs_t costs;
    unsigned policy;

    for (policy = 0; (policy < PREDREG_REPLAY_LAST) && (status == UCS_OK);
         ++policy) {
        if (opts->policies[policy]) {
            status = replay_policy(loader, trace->path, timeline, policy);
        }
    }

    if (opts->curve && (status == UCS_OK)) {
        status = replay_budgets(loader, trace->path, timeline);
    }

    if (status == UCS_OK) {
        loader->job->in_arena |= predreg_is_in_arena(trace);
        predreg_sends_add(&loader->job->sends, trace,
                          predreg_trace_costs(trace, &costs) ? &costs : NULL,
                          opts->knobs.eager_fraction / 100);
    }
    return status;
}

/* After a rank was added to the job, keep the timeline of the rank if the replay of all ranks
 * together needs the timeline; else free it */
static void keep_timeline(loader_t *loader, ucs_status_t status,
                          predreg_timeline_t *timeline)
{
    if ((status == UCS_OK) && predreg_job_is_together(loader->opts, PREDREG_REPLAY_PREDICT)) {
        *predreg_add(loader->timelines, loader->num_timelines) = timeline;
    } else {
        predreg_timeline_destroy(timeline);
    }
}

/* Replay the rank of a trace, and free the trace. This fails if the costs or sizes of the
 * trace are beyond the range of a replay */
static ucs_status_t add_trace(ucs_rcache_trace_t *trace, unsigned input, void *arg)
{
    loader_t *loader = arg;
    predreg_timeline_t *timeline;
    ucs_status_t status;

    status = predreg_timeline_create(trace, 0, &timeline);
    if (status == UCS_OK) {
        status = replay_rank(loader, trace, timeline);
        if (status == UCS_OK) {
            add_rank(loader, trace, input, timeline);
        } else {
            drop_next(loader->job);
        }
        keep_timeline(loader, status, timeline);
    }

    ucs_rcache_trace_free(trace);
    return status;
}

static ucs_status_t load(loader_t *loader)
{
    const predreg_replay_opts_t *opts = loader->opts;
    predreg_job_t *job                = loader->job;
    predreg_paths_t left_out          = {};
    ucs_status_t status;
    unsigned policy;

    status = predreg_traces_each(opts->paths, opts->num_paths, add_trace, loader,
                                 &left_out);
    if (status == UCS_OK) {
        predreg_paths_warn(&left_out);
    }

    job->damage.left_out = left_out.num;
    predreg_paths_cleanup(&left_out);
    for (policy = 0; policy < PREDREG_REPLAY_LAST; ++policy) {
        if (loader->is_too_long[policy]) {
            drop_results(job, policy);
        }
    }
    return status;
}

static int rank_compare(const void *a, const void *b)
{
    const predreg_rank_t *first = a, *second = b;

    if (first->input != second->input) {
        return (first->input > second->input) ? 1 : -1;
    }

    return ucs_rcache_trace_compare(first->number, first->path, second->number,
                                    second->path);
}

/* Put the results of a policy or budget, which are in the order of loading, into the
 * order of the ranks */
static predreg_replay_result_t *sort_results(const predreg_job_t *job,
                                             predreg_replay_result_t *results)
{
    predreg_replay_result_t *sorted;
    size_t i;

    sorted = predreg_alloc(job->num_ranks + 1, sizeof(*sorted));
    for (i = 0; i < job->num_ranks; ++i) {
        sorted[i] = results[job->ranks[i].order];
    }
    free(results);
    return sorted;
}

/* Sort the ranks and their results, and number the ranks without a number */
static void sort_ranks(predreg_job_t *job)
{
    unsigned index;
    size_t i;

    qsort(job->ranks, job->num_ranks, sizeof(*job->ranks), rank_compare);
    for (index = 0; index < PREDREG_JOB_RESULTS; ++index) {
        if (job->results[index] != NULL) {
            job->results[index] = sort_results(job, job->results[index]);
        }
    }

    for (i = 0; i < job->num_ranks; ++i) {
        if (job->ranks[i].number < 0) {
            job->ranks[i].number = i;
        }
    }
}

static void align(predreg_job_t *job)
{
    predreg_rank_start_t *starts;
    size_t i;

    starts       = predreg_alloc(job->num_ranks, sizeof(*starts));
    job->offsets = predreg_alloc(job->num_ranks, sizeof(*job->offsets));
    for (i = 0; i < job->num_ranks; ++i) {
        starts[i] = job->ranks[i].start;
    }
    job->aligned = predreg_ranks_align(starts, job->num_ranks, job->offsets);
    free(starts);
}

static void sum_up(predreg_job_t *job)
{
    unsigned index;

    for (index = 0; index < PREDREG_JOB_RESULTS; ++index) {
        if (job->results[index] != NULL) {
            predreg_ranks_total(job->results[index], job->offsets,
                                job->num_ranks,
                                &job->results[index][job->num_ranks]);
        }
    }
}

ucs_status_t predreg_job_replay(const predreg_replay_opts_t *opts,
                                predreg_job_t *job)
{
    loader_t loader = {.opts = opts, .job = job};
    ucs_status_t status;

    status = load(&loader);
    if (status == UCS_OK) {
        sort_ranks(job);
        align(job);
        if (loader.num_timelines > 0) {
            status = predreg_job_replay_node(opts, job, loader.timelines);
        }
    }
    if (status == UCS_OK) {
        sum_up(job);
    }

    while (loader.num_timelines > 0) {
        predreg_timeline_destroy(loader.timelines[--loader.num_timelines]);
    }
    free(loader.timelines);
    return status;
}
