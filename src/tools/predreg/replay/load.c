/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "load.h"
#include "params.h"

#include <tools/predreg/common/eager_costs.h>
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


/* Keep of a result what is needed, or nothing if there is none */
static void keep_result(const predreg_replay_opts_t *opts, ucs_status_t status,
                        predreg_replay_result_t *result)
{
    if (status != UCS_OK) {
        memset(result, 0, sizeof(*result)); /* There is nothing to clean up */
    } else if (opts->num_ranks == 0) {
        predreg_replay_result_shrink(result);
    }
}

static ucs_status_t replay_policy(loader_t *loader,
                                  const predreg_timeline_t *timeline,
                                  predreg_replay_policy_t policy,
                                  predreg_replay_result_t *result)
{
    predreg_replay_params_t params;
    ucs_status_t status;

    status = predreg_replay_opts_params(loader->opts, timeline, policy,
                                        &params);
    if (status != UCS_OK) {
        return status;
    }

    status = predreg_replay(timeline, &params, result);
    keep_result(loader->opts, status, result);
    return status;
}

/* Replay a rank under predict with the budgets of a curve, but for the usual
 * one, and add the results to the job.
 * @param [in] path  Of its trace, for messages. */
static ucs_status_t replay_budgets(loader_t *loader, const char *path,
                                   const predreg_timeline_t *timeline)
{
    const predreg_budgets_t *budgets = &loader->opts->budgets;
    char name[PREDREG_BUDGET_NAME_MAX];
    predreg_replay_params_t params;
    predreg_replay_result_t *result;
    ucs_status_t status;
    unsigned i;

    status = predreg_replay_opts_params(loader->opts, timeline,
                                        PREDREG_REPLAY_PREDICT, &params);
    for (i = 0; (i < budgets->num) && (status == UCS_OK); ++i) {
        if (i == budgets->usual) {
            continue;
        }

        result = predreg_job_add_result(loader->job, PREDREG_REPLAY_LAST + i);
        status = predreg_budgets_play(timeline, &params, budgets->rates[i],
                                      result);
        keep_result(loader->opts, status, result);
        if (status != UCS_OK) {
            predreg_error("replay: %s: predict with BUDGET=%s cannot be "
                          "replayed: %s", path,
                          predreg_budget_name(budgets->rates[i], name),
                          ucs_status_string(status));
        }
    }

    return status;
}

/* Replay a rank under all policies, and add the results to the job.
 * @param [in] path  Of its trace, for messages. */
static ucs_status_t replay_rank(loader_t *loader, const char *path,
                                const predreg_timeline_t *timeline)
{
    predreg_replay_result_t *result;
    ucs_status_t status;
    unsigned policy;

    for (policy = 0; policy < PREDREG_REPLAY_LAST; ++policy) {
        if (!loader->opts->policies[policy]) {
            continue;
        }

        result = predreg_job_add_result(loader->job, policy);
        if (loader->is_left_out[policy]) {
            continue;
        }

        status = replay_policy(loader, timeline, policy, result);
        if (status == UCS_ERR_UNSUPPORTED) {
            loader->is_left_out[policy] = 1;
        } else if (status != UCS_OK) {
            predreg_error("replay: %s: %s cannot be replayed: %s", path,
                          predreg_policies[policy].name,
                          ucs_status_string(status));
            return status;
        }
    }

    return loader->opts->curve ? replay_budgets(loader, path, timeline) :
                                 UCS_OK;
}

/* Note that a trace is damaged. The reason has been printed; that it is left
 * out is only true if there are others */
static void leave_out(loader_t *loader, const char *path)
{
    loader->left_out = predreg_check_memory(
            realloc(loader->left_out, (loader->num_left_out + 1) *
                                      sizeof(*loader->left_out)));
    loader->left_out[loader->num_left_out++] = predreg_format("%s", path);
    ++loader->job->damage.left_out;
}

/* Add the small sends of a rank that was replayed to the job */
static ucs_status_t
add_sends(loader_t *loader, const ucs_rcache_trace_t *trace)
{
    ucs_reuse_costs_t costs;
    const char *reason = predreg_eager_costs_find(trace, &costs);

    return predreg_sends_add(&loader->job->sends, trace,
                             (reason == NULL) ? &costs : NULL,
                             loader->opts->knobs.eager_fraction / 100);
}

/* Add a rank that was replayed to the job */
static void add_rank(loader_t *loader, const ucs_rcache_trace_t *trace,
                     const predreg_timeline_t *timeline)
{
    size_t order         = loader->job->num_ranks;
    predreg_rank_t *rank = predreg_job_add_rank(loader->job);

    predreg_rank_init(rank, trace, timeline, loader->opts);
    rank->input = loader->input;
    rank->order = order;
}

/* Replay the rank of a trace, and free the trace */
static ucs_status_t add_trace(ucs_rcache_trace_t *trace, void *arg)
{
    loader_t *loader = arg;
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

    status = replay_rank(loader, trace->path, timeline);
    if (status == UCS_OK) {
        status = add_sends(loader, trace);
    }

    if (status == UCS_OK) {
        add_rank(loader, trace, timeline);
    } else if (status == UCS_ERR_INVALID_PARAM) {
        /* Its costs or sizes are beyond what can be replayed */
        predreg_job_drop_next(loader->job);
        leave_out(loader, trace->path);
        status = UCS_OK;
    } else {
        loader->status = status;
    }
    predreg_timeline_destroy(timeline);
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

ucs_status_t predreg_job_load(const predreg_replay_opts_t *opts,
                              predreg_job_t *job)
{
    loader_t loader = { .opts = opts, .job = job, .status = UCS_OK };
    ucs_status_t status;
    unsigned policy;

    predreg_job_init(job);
    status = load(&loader);
    loader_cleanup(&loader);
    for (policy = 0; policy < PREDREG_REPLAY_LAST; ++policy) {
        if (loader.is_left_out[policy]) {
            predreg_job_drop_results(job, policy);
        }
    }
    return status;
}
