/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "job.h"

#include <tools/predreg/common/message.h>
#include <tools/predreg/common/trace_files.h>

#include <stdlib.h>
#include <string.h>


/* A job while its traces are loaded */
typedef struct loader {
    const predreg_replay_opts_t *opts;
    predreg_job_t               *job;
    unsigned                    input;   /* Which path is being read */
    int                         is_left_out[PREDREG_REPLAY_LAST];
                                         /* Whether the policy would take too
                                            long for one of the ranks */
    ucs_status_t                status;  /* First error of a replay. All other
                                            errors are of a trace */
    char                        **left_out; /* Damaged traces that are still to
                                               be warned of */
    size_t                      num_left_out;
} loader_t;


static void get_params(const predreg_replay_opts_t *opts,
                       predreg_replay_policy_t policy,
                       predreg_replay_params_t *params)
{
    uct_predreg_knobs_to_params(&opts->knobs, &params->cache);
    params->limit = opts->limits[policy];
    if (opts->window != 0) {
        params->compared = opts->window;
    }
    if (opts->reg_given) {
        params->reg = opts->reg;
    }
    if (opts->dereg_given) {
        params->dereg = opts->dereg;
    }
    if (opts->policies_given) {
        params->max_steps = UINT64_MAX; /* The user wants it */
    }
}

static ucs_status_t replay_policy(const predreg_timeline_t *timeline,
                                  predreg_replay_policy_t policy,
                                  const predreg_replay_opts_t *opts,
                                  predreg_replay_result_t *result)
{
    predreg_replay_params_t params;
    ucs_status_t status;

    status = predreg_replay_params_default(timeline, policy, &params);
    if (status != UCS_OK) {
        return status;
    }

    get_params(opts, policy, &params);
    status = predreg_replay(timeline, &params, result);
    if (status != UCS_OK) {
        memset(result, 0, sizeof(*result)); /* There is nothing to clean up */
    } else if (opts->num_ranks == 0) {
        predreg_replay_result_shrink(result);
    }
    return status;
}

/* Make room for the results of this rank, and for those of all ranks together.
 * Results that are not there yet are all 0 */
static predreg_replay_result_t *add_result(predreg_job_t *job, unsigned policy)
{
    predreg_replay_result_t *results;

    results = predreg_check_memory(
            realloc(job->results[policy],
                    (job->num_ranks + 2) * sizeof(*results)));
    memset(&results[job->num_ranks], 0, 2 * sizeof(*results));
    job->results[policy] = results;
    return &results[job->num_ranks];
}

/* Replay a rank under all policies, and add the results to the job */
static ucs_status_t replay_rank(loader_t *loader,
                                const predreg_timeline_t *timeline)
{
    predreg_replay_result_t *result;
    ucs_status_t status;
    unsigned policy;

    for (policy = 0; policy < PREDREG_REPLAY_LAST; ++policy) {
        if (!loader->opts->policies[policy]) {
            continue;
        }

        result = add_result(loader->job, policy);
        if (loader->is_left_out[policy]) {
            continue;
        }

        status = replay_policy(timeline, policy, loader->opts, result);
        if (status == UCS_ERR_UNSUPPORTED) {
            loader->is_left_out[policy] = 1;
        } else if (status != UCS_OK) {
            predreg_error("replay: %s cannot be replayed: %s",
                          predreg_policies[policy].name,
                          ucs_status_string(status));
            return status;
        }
    }

    return UCS_OK;
}

static predreg_known_t known(int is_known, int is_page_known)
{
    return is_page_known ? PREDREG_KNOWN_ALL :
           is_known      ? PREDREG_KNOWN_SIZE :
                           PREDREG_KNOWN_NOT;
}

static void describe_rank(const loader_t *loader,
                          const ucs_rcache_trace_t *trace,
                          const predreg_timeline_t *timeline,
                          predreg_rank_t *rank)
{
    *rank = (predreg_rank_t){
        .path        = predreg_format("%s", trace->path),
        .number      = predreg_trace_rank(trace),
        .input       = loader->input,
        .order       = loader->job->num_ranks,
        .start       = predreg_rank_start(trace),
        .num_uses    = timeline->num_uses,
        .duration    = timeline->duration,
        .waited      = timeline->waited,
        .reg         = timeline->reg,
        .dereg       = timeline->dereg,
        .reg_known   = known(timeline->reg_known, timeline->reg_page_known),
        .dereg_known = known(timeline->dereg_known, timeline->dereg_page_known),
        .damage      = { .lost      = trace->lost,
                         .truncated = trace->truncated }
    };
    rank->has_number     = (rank->number >= 0);
    rank->damage.guessed = (!loader->opts->reg_given &&
                            (rank->reg_known != PREDREG_KNOWN_ALL)) ||
                           (!loader->opts->dereg_given &&
                            (rank->dereg_known != PREDREG_KNOWN_ALL));
}

/* Note that a trace is damaged. The reason has been printed; that it is left out
 * is only true if there are others */
static void leave_out(loader_t *loader, const char *path)
{
    loader->left_out = predreg_check_memory(
            realloc(loader->left_out, (loader->num_left_out + 1) *
                                      sizeof(*loader->left_out)));
    loader->left_out[loader->num_left_out++] = predreg_format("%s", path);
    ++loader->job->damage.left_out;
}

/* Replay the rank of a trace, and free the trace */
static ucs_status_t add_trace(ucs_rcache_trace_t *trace, void *arg)
{
    loader_t *loader   = arg;
    predreg_job_t *job = loader->job;
    predreg_timeline_t *timeline;
    ucs_status_t status;

    status = predreg_timeline_create(trace, &timeline);
    if (status == UCS_ERR_INVALID_PARAM) {
        leave_out(loader, trace->path);
        ucs_rcache_trace_free(trace);
        return UCS_OK;
    } else if (status != UCS_OK) {
        loader->status = status;
        goto out_free_trace;
    }

    loader->status = replay_rank(loader, timeline);
    if (loader->status == UCS_OK) {
        job->ranks = predreg_check_memory(
                realloc(job->ranks, (job->num_ranks + 1) *
                                    sizeof(*job->ranks)));
        describe_rank(loader, trace, timeline, &job->ranks[job->num_ranks]);
        ++job->num_ranks;
    }
    predreg_timeline_destroy(timeline);
    status = loader->status;
out_free_trace:
    ucs_rcache_trace_free(trace);
    return status;
}

/* Load and replay what is in a folder or file. A single file that is damaged is
 * left out like one of a folder.
 *
 * @param [out] damage  Set to the status of such a file. */
static ucs_status_t add_path(loader_t *loader, char *path, ucs_status_t *damage)
{
    size_t left_out = 0; /* Of a folder; they have been warned of */
    ucs_status_t status;

    status = predreg_traces_each(path, add_trace, loader, &left_out);
    loader->job->damage.left_out += left_out;
    if ((status == UCS_OK) || (loader->status != UCS_OK) ||
        (status == UCS_ERR_NO_ELEM) || (status == UCS_ERR_NO_MEMORY)) {
        return status;
    }

    if (left_out == 0) {
        leave_out(loader, path); /* It was a file */
    }
    *damage = status;
    return UCS_OK;
}

/* Load and replay all traces */
static ucs_status_t load(loader_t *loader)
{
    const predreg_replay_opts_t *opts = loader->opts;
    ucs_status_t damage               = UCS_ERR_INVALID_PARAM;
    ucs_status_t status;
    size_t i;

    for (loader->input = 0; loader->input < (unsigned)opts->num_paths;
         ++loader->input) {
        status = add_path(loader, opts->paths[loader->input], &damage);
        if (status != UCS_OK) {
            return status;
        }
    }

    if (loader->job->num_ranks == 0) {
        return damage; /* There is nothing but damaged traces */
    }

    for (i = 0; i < loader->num_left_out; ++i) {
        predreg_warn_left_out(loader->left_out[i]);
    }
    return UCS_OK;
}

static void loader_cleanup(loader_t *loader)
{
    while (loader->num_left_out > 0) {
        free(loader->left_out[--loader->num_left_out]);
    }
    free(loader->left_out);
}

static int rank_compare(const void *a, const void *b)
{
    const predreg_rank_t *first = a, *second = b;

    if (first->input != second->input) {
        return (first->input > second->input) ? 1 : -1;
    }

    /* Ranks without a number come last: -1 is the largest unsigned number */
    if (first->number != second->number) {
        return ((unsigned long)first->number >
                (unsigned long)second->number) ? 1 : -1;
    }

    return strcmp(first->path, second->path);
}

/* Put the results of a policy into the order of the ranks */
static predreg_replay_result_t *sort_results(const predreg_job_t *job,
                                             predreg_replay_result_t *results)
{
    predreg_replay_result_t *sorted;
    size_t i;

    sorted = predreg_check_memory(calloc(job->num_ranks + 1, sizeof(*sorted)));
    for (i = 0; i < job->num_ranks; ++i) {
        sorted[i] = results[job->ranks[i].order];
    }
    free(results);
    return sorted;
}

static int number_compare(const void *a, const void *b)
{
    const predreg_rank_t *first  = *(predreg_rank_t *const*)a;
    const predreg_rank_t *second = *(predreg_rank_t *const*)b;

    if (first->number != second->number) {
        return (first->number > second->number) ? 1 : -1;
    }

    return (first > second) - (first < second);
}

/* Warn if two paths have traces of the same rank. Those of one path have been
 * compared when they were loaded */
static void check_inputs(const predreg_job_t *job)
{
    const predreg_rank_t **ranks;
    size_t i;

    ranks = predreg_check_memory(calloc(job->num_ranks, sizeof(*ranks)));
    for (i = 0; i < job->num_ranks; ++i) {
        ranks[i] = &job->ranks[i];
    }

    qsort(ranks, job->num_ranks, sizeof(*ranks), number_compare);
    for (i = 1; i < job->num_ranks; ++i) {
        if (ranks[i]->has_number &&
            (ranks[i]->number == ranks[i - 1]->number) &&
            (ranks[i]->input != ranks[i - 1]->input)) {
            predreg_warn_same_rank(ranks[i]->number, ranks[i - 1]->path,
                                   ranks[i]->path);
            break; /* One warning is enough: most likely, all other ranks have
                      two traces as well */
        }
    }
    free(ranks);
}

static void align(predreg_job_t *job)
{
    predreg_rank_start_t *starts;
    size_t i;

    starts       = predreg_check_memory(calloc(job->num_ranks,
                                               sizeof(*starts)));
    job->offsets = predreg_check_memory(calloc(job->num_ranks,
                                               sizeof(*job->offsets)));
    for (i = 0; i < job->num_ranks; ++i) {
        starts[i] = job->ranks[i].start;
    }
    job->aligned = predreg_ranks_align(starts, job->num_ranks, job->offsets);
    free(starts);
}

/* All traces are loaded and replayed: put the ranks in order */
static void sort_ranks(loader_t *loader)
{
    predreg_job_t *job = loader->job;
    predreg_rank_t *rank;
    unsigned policy;
    size_t i;

    qsort(job->ranks, job->num_ranks, sizeof(*job->ranks), rank_compare);
    for (policy = 0; policy < PREDREG_REPLAY_LAST; ++policy) {
        if (job->results[policy] != NULL) {
            job->results[policy] = sort_results(job, job->results[policy]);
        }
    }

    check_inputs(job);
    for (i = 0; i < job->num_ranks; ++i) {
        rank                   = &job->ranks[i];
        rank->number           = rank->has_number ? rank->number : (long)i;
        job->damage.guessed   |= rank->damage.guessed;
        job->damage.lost      += rank->damage.lost;
        job->damage.truncated |= rank->damage.truncated;
    }
    align(job);
}

static void free_results(predreg_job_t *job, unsigned policy)
{
    size_t i;

    if (job->results[policy] != NULL) {
        for (i = 0; i <= job->num_ranks; ++i) {
            predreg_replay_result_cleanup(&job->results[policy][i]);
        }
        free(job->results[policy]);
        job->results[policy] = NULL;
    }
}

static ucs_status_t sum_up(predreg_job_t *job)
{
    ucs_status_t status = UCS_OK;
    unsigned policy;

    for (policy = 0; (policy < PREDREG_REPLAY_LAST) && (status == UCS_OK);
         ++policy) {
        if (job->results[policy] != NULL) {
            status = predreg_ranks_total(job->results[policy], job->offsets,
                                         job->num_ranks,
                                         &job->results[policy]
                                                      [job->num_ranks]);
        }
    }

    return status;
}

ucs_status_t predreg_job_replay(const predreg_replay_opts_t *opts,
                                predreg_job_t *job)
{
    loader_t loader = { .opts = opts, .job = job, .status = UCS_OK };
    ucs_status_t status;
    unsigned policy;

    memset(job, 0, sizeof(*job));
    status = load(&loader);
    loader_cleanup(&loader);
    if (status != UCS_OK) {
        return status;
    }

    sort_ranks(&loader);
    for (policy = 0; policy < PREDREG_REPLAY_LAST; ++policy) {
        if (loader.is_left_out[policy]) {
            free_results(job, policy);
        }
    }
    return sum_up(job);
}

void predreg_job_cleanup(predreg_job_t *job)
{
    unsigned policy;
    size_t i;

    for (policy = 0; policy < PREDREG_REPLAY_LAST; ++policy) {
        free_results(job, policy);
    }

    for (i = 0; i < job->num_ranks; ++i) {
        free(job->ranks[i].path);
    }
    free(job->offsets);
    free(job->ranks);
}
