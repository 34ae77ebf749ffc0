/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "node.h"

#include <ucs/sys/math.h>

#include <stdlib.h>


/* An operation of one of a node's helpers */
typedef struct job_op {
    int64_t  time;
    uint64_t duration;
    unsigned rank;      /* Rank within the node */
    int      is_reg;
} job_op_t;


static int op_compare(const void *a, const void *b)
{
    const job_op_t *first = a, *second = b;

    if (first->time != second->time) {
        return (first->time > second->time) ? 1 : -1;
    }

    return (first->rank > second->rank) - (first->rank < second->rank);
}

/* List the operations of all helpers of a node, sorted by time.
 * @return the number of operations, or SIZE_MAX if there is no memory. */
static size_t list_ops(const scale_model_t *model, unsigned first, unsigned end,
                       job_op_t **ops_p)
{
    const predreg_replay_result_t *result;
    const predreg_helper_op_t *op;
    size_t num_ops = 0;
    job_op_t *ops;
    int64_t shift;
    unsigned rank;

    for (rank = first; rank < end; ++rank) {
        num_ops += scale_rank_result(model, rank)->num_helper_ops;
    }

    ops = malloc((num_ops + 1) * sizeof(*ops));
    if (ops == NULL) {
        return SIZE_MAX;
    }

    *ops_p = ops;
    for (rank = first; rank < end; ++rank) {
        result = scale_rank_result(model, rank);
        shift  = scale_rank_shift(model, rank);
        for (op = result->helper_ops;
             op < result->helper_ops + result->num_helper_ops; ++op) {
            *ops++ = (job_op_t){
                .time     = scale_time(model, op->time, shift),
                .duration = op->duration,
                .rank     = rank - first,
                .is_reg   = op->is_reg
            };
        }
    }

    qsort(*ops_p, num_ops, sizeof(**ops_p), op_compare);
    return num_ops;
}

/* @return the place of the core that becomes free first */
static int64_t *first_free(int64_t *cores, unsigned num_cores)
{
    int64_t *free_at = cores;
    unsigned i;

    for (i = 1; i < num_cores; ++i) {
        free_at = (cores[i] < *free_at) ? &cores[i] : free_at;
    }

    return free_at;
}

/*
 * Run the operations. Helpers take the cores in the order in which they need
 * one, and each helper does one operation at a time. An operation waits only if
 * no core is free or its helper is busy.
 *
 * @param [in] cores   When each of the num_cores cores becomes free, ns.
 * @param [in] ranks   When the helper of each rank becomes free, ns.
 */
static void run_ops(scale_model_t *model, const job_op_t *ops, size_t num_ops,
                    int64_t *cores, int64_t *ranks, unsigned count)
{
    predreg_scale_t *scale = model->scale;
    const job_op_t *op;
    int64_t begin, *core;
    uint64_t delay;

    for (op = ops; op < ops + num_ops; ++op) {
        core             = first_free(cores, scale->idle_cores);
        begin            = ucs_max(op->time, ucs_max(*core, ranks[op->rank]));
        *core            = begin + op->duration;
        ranks[op->rank]  = *core;
        model->busy     += (double)count * op->duration;
        if (!op->is_reg) {
            continue;
        }

        delay                = begin - op->time;
        model->delay        += (double)count * delay;
        scale->delay_max     = ucs_max(scale->delay_max, delay);
        scale->helper_regs  += count;
        scale->delayed_regs += (delay > 0) ? count : 0;
    }
}

ucs_status_t scale_add_helpers(scale_model_t *model, unsigned first,
                               unsigned end, unsigned count)
{
    unsigned num_ranks  = end - first;
    ucs_status_t status = UCS_ERR_NO_MEMORY;
    int64_t *free_at;
    job_op_t *ops;
    size_t num_ops;
    unsigned i;

    num_ops = list_ops(model, first, end, &ops);
    if (num_ops == SIZE_MAX) {
        goto out;
    }

    free_at = malloc((model->scale->idle_cores + num_ranks) *
                     sizeof(*free_at));
    if (free_at == NULL) {
        goto out_free_ops;
    }

    for (i = 0; i < model->scale->idle_cores + num_ranks; ++i) {
        free_at[i] = INT64_MIN;
    }
    run_ops(model, ops, num_ops, free_at, free_at + model->scale->idle_cores,
            count);
    free(free_at);
    status = UCS_OK;
out_free_ops:
    free(ops);
out:
    return status;
}
