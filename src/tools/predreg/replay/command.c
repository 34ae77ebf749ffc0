/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "command.h"
#include "curve.h"
#include "describe.h"
#include "load.h"
#include "order.h"
#include "output.h"
#include "scale.h"

#include <tools/predreg/common/message.h>

#include <stdio.h>
#include <stdlib.h>


static void print_summary(const predreg_job_t *job)
{
    const predreg_replay_result_t *predict, *clairvoyant;

    predict     = job->results[PREDREG_REPLAY_PREDICT];
    clairvoyant = job->results[PREDREG_REPLAY_CLAIRVOYANT];
    if (predict != NULL) {
        predreg_replay_print_forgotten(&predict[job->num_ranks]);
    }
    if ((predict != NULL) && (clairvoyant != NULL)) {
        predreg_replay_print_excess(&predict[job->num_ranks],
                                    &clairvoyant[job->num_ranks]);
    }
}

/* Whether a policy is worth a row. Where nothing is mapped that an arena could
 * serve, it is predict once more */
static int has_row(const predreg_job_t *job, const predreg_replay_opts_t *opts,
                   predreg_replay_policy_t policy)
{
    const predreg_replay_result_t *results = job->results[policy];

    if ((results == NULL) ||
        (opts->curve && (policy == PREDREG_REPLAY_PREDICT))) {
        return 0;
    }

    return (policy != PREDREG_REPLAY_ARENA) || opts->policies_given ||
           (results[job->num_ranks].limit > 0);
}

static void print_gain(const predreg_job_t *job, int is_json)
{
    const predreg_replay_result_t *predict, *arena;
    predreg_gain_t gain = {0};
    size_t i;

    predict = job->results[PREDREG_REPLAY_PREDICT];
    arena   = job->results[PREDREG_REPLAY_ARENA];
    if ((predict == NULL) || (arena == NULL)) {
        return;
    }

    for (i = 0; i < job->num_ranks; ++i) {
        predreg_gain_add(&gain, &predict[i], &arena[i]);
    }
    predreg_replay_print_gain(&gain, is_json);
}

static void print_table(const predreg_job_t *job,
                        const predreg_replay_opts_t *opts)
{
    unsigned policy;

    if (!opts->json) {
        predreg_replay_print_head();
    }

    if (opts->curve) {
        predreg_replay_print_curve(job, opts);
    }

    for (policy = 0; policy < PREDREG_REPLAY_LAST; ++policy) {
        if (has_row(job, opts, policy)) {
            predreg_replay_print_results(job, opts,
                                         predreg_policies[policy].name, "",
                                         job->results[policy]);
        }
    }

    if (!opts->json) {
        print_summary(job);
    }
    print_gain(job, opts->json);
    predreg_replay_print_sends(&job->sends, opts->json);

    if (opts->curve && !opts->json) {
        predreg_replay_print_advice(job, opts);
    }
}

/* Make sure that all that was printed has got where it should */
static ucs_status_t flush_output(void)
{
    if ((fflush(stdout) != 0) || ferror(stdout)) {
        predreg_error("cannot write to the standard output: %m");
        return UCS_ERR_IO_ERROR;
    }

    return UCS_OK;
}

/* Print what the job is, and the results */
static ucs_status_t print_job(const predreg_job_t *job,
                              const predreg_replay_opts_t *opts)
{
    ucs_status_t status;

    predreg_replay_warn_damage(job);
    if (!opts->json) {
        predreg_replay_print_ranks(job, opts);
    }

    if (opts->num_ranks > 0) {
        status = predreg_replay_scale(job, opts, job->results);
        if (status != UCS_OK) {
            return status;
        }
    } else {
        print_table(job, opts);
    }

    return flush_output();
}

static ucs_status_t replay_job(const predreg_replay_opts_t *opts,
                               predreg_job_t *job)
{
    ucs_status_t status;

    status = predreg_job_load(opts, job);
    if (status != UCS_OK) {
        return status;
    }

    predreg_job_order(job);
    return predreg_job_sum_up(job);
}

int predreg_replay_command(int argc, char **argv)
{
    predreg_replay_opts_t opts;
    ucs_status_t result;
    predreg_job_t job;
    int status;

    status = predreg_replay_opts_parse(argc, argv, &opts);
    if (status != 0) {
        goto out_cleanup_opts;
    }

    result = replay_job(&opts, &job);
    if (result == UCS_OK) {
        result = print_job(&job, &opts);
    }
    status = (result == UCS_OK) ? EXIT_SUCCESS : EXIT_FAILURE;
    predreg_job_cleanup(&job);

out_cleanup_opts:
    predreg_replay_opts_cleanup(&opts);
    return status;
}
