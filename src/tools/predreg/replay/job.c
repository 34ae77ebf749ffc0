/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "job.h"

#include <tools/predreg/common/message.h>

#include <stdlib.h>
#include <string.h>


void predreg_job_init(predreg_job_t *job)
{
    memset(job, 0, sizeof(*job));
}

void predreg_job_cleanup(predreg_job_t *job)
{
    unsigned index;
    size_t i;

    for (index = 0; index < PREDREG_JOB_RESULTS; ++index) {
        predreg_job_drop_results(job, index);
    }

    for (i = 0; i < job->num_ranks; ++i) {
        predreg_rank_cleanup(&job->ranks[i]);
    }
    free(job->offsets);
    free(job->ranks);
}

predreg_replay_result_t *
predreg_job_add_result(predreg_job_t *job, unsigned index)
{
    predreg_replay_result_t *results;

    results = predreg_check_memory(
            realloc(job->results[index],
                    (job->num_ranks + 2) * sizeof(*results)));
    memset(&results[job->num_ranks], 0, 2 * sizeof(*results));
    job->results[index] = results;
    return &results[job->num_ranks];
}

predreg_rank_t *predreg_job_add_rank(predreg_job_t *job)
{
    job->ranks = predreg_check_memory(
            realloc(job->ranks, (job->num_ranks + 1) * sizeof(*job->ranks)));
    return &job->ranks[job->num_ranks++];
}

void predreg_job_drop_next(predreg_job_t *job)
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

void predreg_job_drop_results(predreg_job_t *job, unsigned index)
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

const predreg_replay_result_t *
predreg_job_budget_results(const predreg_job_t *job,
                           const predreg_budgets_t *budgets, unsigned index)
{
    return (index == budgets->usual) ?
           job->results[PREDREG_REPLAY_PREDICT] :
           job->results[PREDREG_REPLAY_LAST + index];
}

static void sum_up_damage(predreg_job_t *job)
{
    const predreg_rank_t *rank;

    for (rank = job->ranks; rank < job->ranks + job->num_ranks; ++rank) {
        job->damage.guessed   |= rank->damage.guessed;
        job->damage.lost      += rank->damage.lost;
        job->damage.truncated |= rank->damage.truncated;
    }
}

ucs_status_t predreg_job_sum_up(predreg_job_t *job)
{
    ucs_status_t status = UCS_OK;
    unsigned index;

    sum_up_damage(job);
    for (index = 0; (index < PREDREG_JOB_RESULTS) && (status == UCS_OK);
         ++index) {
        if (job->results[index] != NULL) {
            status = predreg_ranks_total(job->results[index], job->offsets,
                                         job->num_ranks,
                                         &job->results[index]
                                                      [job->num_ranks]);
        }
    }

    return status;
}
