/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "order.h"

#include <tools/predreg/common/message.h>
#include <tools/predreg/common/trace_files.h>

#include <stdlib.h>


static int rank_compare(const void *a, const void *b)
{
    const predreg_rank_t *first = a, *second = b;

    if (first->input != second->input) {
        return (first->input > second->input) ? 1 : -1;
    }

    return predreg_trace_compare(first->number, first->path, second->number,
                                 second->path);
}

/* A policy or a budget has one result for each trace. Put these into the order
 * of the ranks, which is not that of the traces */
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

static void sort_ranks(predreg_job_t *job)
{
    unsigned index;

    qsort(job->ranks, job->num_ranks, sizeof(*job->ranks), rank_compare);
    for (index = 0; index < PREDREG_JOB_RESULTS; ++index) {
        if (job->results[index] != NULL) {
            job->results[index] = sort_results(job, job->results[index]);
        }
    }
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

/* Number the ranks whose traces do not say their number */
static void number_ranks(predreg_job_t *job)
{
    size_t i;

    for (i = 0; i < job->num_ranks; ++i) {
        if (!job->ranks[i].has_number) {
            job->ranks[i].number = i;
        }
    }
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

void predreg_job_order(predreg_job_t *job)
{
    sort_ranks(job);
    check_inputs(job);
    number_ranks(job);
    align(job);
}
