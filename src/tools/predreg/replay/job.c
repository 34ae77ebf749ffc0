/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "job.h"

#include <tools/predreg/common/message.h>
#include <tools/predreg/common/trace_files.h>
#include <tools/replay/scale/ranks.h>

#include <stdlib.h>
#include <string.h>


/* Add the traces of a folder, or the trace of a file, to the job */
static ucs_status_t add_path(const char *path, predreg_job_t *job)
{
    predreg_traces_t traces;
    ucs_status_t status;
    size_t i;

    status = predreg_traces_load(path, &traces);
    if (status != UCS_OK) {
        return status;
    }

    job->ranks = predreg_check_memory(
            realloc(job->ranks, (job->num_ranks + traces.num_traces) *
                                sizeof(*job->ranks)));
    for (i = 0; i < traces.num_traces; ++i) {
        job->ranks[job->num_ranks++] = (predreg_rank_t){
            .trace = traces.traces[i]
        };
    }
    free(traces.traces);
    return UCS_OK;
}

static void note_damage(predreg_job_t *job, predreg_rank_t *rank)
{
    rank->damage.lost      = rank->trace->lost;
    rank->damage.truncated = rank->trace->truncated;

    job->damage.lost      += rank->damage.lost;
    job->damage.truncated |= rank->damage.truncated;
}

static ucs_status_t prepare(predreg_job_t *job)
{
    ucs_rcache_trace_t **traces;
    ucs_status_t status;
    long number;
    size_t i;

    traces       = predreg_check_memory(calloc(job->num_ranks,
                                               sizeof(*traces)));
    job->offsets = predreg_check_memory(calloc(job->num_ranks,
                                               sizeof(*job->offsets)));
    for (i = 0; i < job->num_ranks; ++i) {
        traces[i] = job->ranks[i].trace;
    }
    job->aligned = predreg_ranks_align(traces, job->num_ranks, job->offsets);
    free(traces);

    for (i = 0; i < job->num_ranks; ++i) {
        number               = predreg_trace_rank(job->ranks[i].trace);
        job->ranks[i].number = (number < 0) ? (long)i : number;
        note_damage(job, &job->ranks[i]);

        status = predreg_timeline_create(job->ranks[i].trace,
                                         &job->ranks[i].timeline);
        if (status != UCS_OK) {
            return status;
        }
    }

    return UCS_OK;
}

ucs_status_t predreg_job_load(int num_paths, char **paths, predreg_job_t *job)
{
    ucs_status_t status;
    int i;

    memset(job, 0, sizeof(*job));
    for (i = 0; i < num_paths; ++i) {
        status = add_path(paths[i], job);
        if (status != UCS_OK) {
            return status;
        }
    }

    return prepare(job);
}

void predreg_job_cleanup(predreg_job_t *job)
{
    size_t i;

    for (i = 0; i < job->num_ranks; ++i) {
        if (job->ranks[i].timeline != NULL) {
            predreg_timeline_destroy(job->ranks[i].timeline);
        }
        ucs_rcache_trace_free(job->ranks[i].trace);
    }
    free(job->offsets);
    free(job->ranks);
}

static ucs_status_t rank_replay(const predreg_timeline_t *timeline,
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

    uct_predreg_knobs_to_params(&opts->knobs, &params.cache);
    params.limit = opts->limits[policy];
    if (opts->window != 0) {
        params.compared = opts->window;
    }
    if (opts->reg_given) {
        params.reg = opts->reg;
    }
    if (opts->dereg_given) {
        params.dereg = opts->dereg;
    }
    return predreg_replay(timeline, &params, result);
}

ucs_status_t predreg_job_replay(const predreg_job_t *job,
                                predreg_replay_policy_t policy,
                                const predreg_replay_opts_t *opts,
                                predreg_replay_result_t *results)
{
    ucs_status_t status = UCS_OK;
    size_t i;

    for (i = 0; i < job->num_ranks; ++i) {
        status = rank_replay(job->ranks[i].timeline, policy, opts,
                             &results[i]);
        if (status != UCS_OK) {
            goto err_cleanup;
        }
    }

    status = predreg_ranks_total(results, job->offsets, job->num_ranks,
                                 &results[job->num_ranks]);
    if (status == UCS_OK) {
        return UCS_OK;
    }

err_cleanup:
    while (i-- > 0) {
        predreg_replay_result_cleanup(&results[i]);
    }
    return status;
}
