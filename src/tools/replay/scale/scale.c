/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "scale.h"

#include <ucs/base/hash.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>

#define NSEC_PER_SEC 1e9


/* What a helper does, in a node */
typedef struct job_op {
    int64_t  time;
    uint64_t duration;
    unsigned rank;      /* In the node */
    int      is_reg;
} job_op_t;

typedef struct model {
    const predreg_replay_result_t *results;
    const int64_t                 *offsets;
    size_t                        num_results;
    const predreg_scale_params_t  *params;
    predreg_scale_t               *scale;
    int64_t                       duration;  /* Of the job */
    double                        above;     /* Nodes times ns */
    double                        above_byte_ns;
    double                        busy;      /* ns */
    double                        delay;     /* ns */
} model_t;


const char *predreg_phase_names[] = {
    [PREDREG_PHASE_RECORDED] = "recorded",
    [PREDREG_PHASE_RANDOM]   = "random",
    [PREDREG_PHASE_LAST]     = NULL
};


/* Finalizer of the generator splitmix64 (G. Steele et al., "Fast Splittable
 * Pseudorandom Number Generators", OOPSLA 2014): consecutive numbers become
 * unrelated ones */
static uint64_t mix(uint64_t x)
{
    x += UCS_RCACHE_PRED_HASH_GOLDEN;
    x  = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ul;
    x  = (x ^ (x >> 27)) * 0x94d049bb133111ebul;
    return x ^ (x >> 31);
}

/* What a rank did when it was recorded */
static const predreg_replay_result_t *rank_result(const model_t *model,
                                                  unsigned rank)
{
    return &model->results[rank % model->num_results];
}

/* How much later a rank does everything than it is recorded */
static int64_t rank_shift(const model_t *model, unsigned rank)
{
    if (model->params->phase == PREDREG_PHASE_RECORDED) {
        return model->offsets[rank % model->num_results];
    }

    return (model->duration == 0) ? 0 : (mix(rank) % model->duration);
}

/* Whether what is beyond the end of the job comes at its begin */
static int model_is_ring(const model_t *model)
{
    return (model->params->phase == PREDREG_PHASE_RANDOM) &&
           (model->duration > 0);
}

/* A time of a rank, in the job */
static int64_t model_time(const model_t *model, int64_t time, int64_t shift)
{
    time += shift;
    if (!model_is_ring(model)) {
        return time;
    }

    time %= model->duration;
    return (time < 0) ? (time + model->duration) : time;
}

/* A part of the curve of a rank, which may reach beyond the end of the job */
static void add_part(const model_t *model, predreg_ledger_t *ledger,
                     int64_t begin, int64_t length, uint64_t bytes)
{
    int64_t end = begin + length;

    if (model_is_ring(model) && (end > model->duration)) {
        predreg_ledger_add(ledger, 0, end - model->duration, bytes,
                           PREDREG_CAUSE_USE);
        end = model->duration;
    }
    predreg_ledger_add(ledger, begin, end, bytes, PREDREG_CAUSE_USE);
}

static void add_curve(const model_t *model, predreg_ledger_t *ledger,
                      unsigned rank)
{
    const predreg_replay_result_t *result = rank_result(model, rank);
    int64_t shift                         = rank_shift(model, rank);
    const predreg_step_t *step;
    size_t i;

    for (i = 0; i + 1 < result->pinned.num_steps; ++i) {
        step = &result->pinned.curve[i];
        if (step->bytes > 0) {
            add_part(model, ledger, model_time(model, step[0].time, shift),
                     step[1].time - step[0].time, step->bytes);
        }
    }
}

/* The curve of a node, which stands for so many */
static void add_node_sum(model_t *model, const predreg_sum_t *sum,
                         unsigned count)
{
    predreg_scale_t *scale = model->scale;
    const predreg_step_t *step;
    double time;
    size_t i;

    scale->job_avg_bytes   += count * sum->byte_seconds;
    scale->job_peak_bytes  += count * sum->peak_bytes;
    scale->node_peak_bytes  = ucs_max(scale->node_peak_bytes, sum->peak_bytes);
    for (i = 0; i + 1 < sum->num_steps; ++i) {
        step = &sum->curve[i];
        if (step->bytes > model->params->node_max) {
            time                  = (double)count *
                                    (step[1].time - step[0].time);
            model->above         += time;
            model->above_byte_ns += time *
                                    (step->bytes - model->params->node_max);
        }
    }
}

static ucs_status_t add_node_memory(model_t *model, unsigned first,
                                    unsigned end, unsigned count)
{
    predreg_ledger_t *ledger;
    ucs_status_t status;
    predreg_sum_t sum;
    unsigned rank;

    status = predreg_ledger_create(&ledger);
    if (status != UCS_OK) {
        return status;
    }

    for (rank = first; rank < end; ++rank) {
        add_curve(model, ledger, rank);
    }

    status = predreg_ledger_sum(ledger, &sum);
    if (status == UCS_OK) {
        add_node_sum(model, &sum, count);
        predreg_sum_cleanup(&sum);
    }
    predreg_ledger_destroy(ledger);
    return status;
}

static int op_compare(const void *a, const void *b)
{
    const job_op_t *first = a, *second = b;

    if (first->time != second->time) {
        return (first->time > second->time) ? 1 : -1;
    }

    return (first->rank > second->rank) - (first->rank < second->rank);
}

/* What the helpers of a node do, by time. @return how much, or SIZE_MAX if there
 * is no memory. */
static size_t list_ops(const model_t *model, unsigned first, unsigned end,
                       job_op_t **ops_p)
{
    const predreg_replay_result_t *result;
    const predreg_helper_op_t *op;
    size_t num_ops = 0;
    job_op_t *ops;
    int64_t shift;
    unsigned rank;

    for (rank = first; rank < end; ++rank) {
        num_ops += rank_result(model, rank)->num_helper_ops;
    }

    ops = malloc((num_ops + 1) * sizeof(*ops));
    if (ops == NULL) {
        return SIZE_MAX;
    }

    *ops_p = ops;
    for (rank = first; rank < end; ++rank) {
        result = rank_result(model, rank);
        shift  = rank_shift(model, rank);
        for (op = result->helper_ops;
             op < result->helper_ops + result->num_helper_ops; ++op) {
            *ops++ = (job_op_t){
                .time     = model_time(model, op->time, shift),
                .duration = op->duration,
                .rank     = rank - first,
                .is_reg   = op->is_reg
            };
        }
    }

    qsort(*ops_p, num_ops, sizeof(**ops_p), op_compare);
    return num_ops;
}

/* The core that is free first */
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
 * Helpers take the cores in the order in which they need one, and each does one
 * thing at a time. Nothing waits while a core and its helper are free.
 *
 * @param [in] cores   When each is free. So many there are.
 * @param [in] ranks   When each rank's helper is free.
 */
static void run_ops(model_t *model, const job_op_t *ops, size_t num_ops,
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

static ucs_status_t add_node_helpers(model_t *model, unsigned first,
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

/* A node, which stands for so many */
static ucs_status_t add_node(model_t *model, unsigned node, unsigned count)
{
    unsigned first = node * model->params->ranks_per_node;
    unsigned end   = ucs_min(first + model->params->ranks_per_node,
                             model->params->num_ranks);
    ucs_status_t status;

    status = add_node_memory(model, first, end, count);
    if ((status != UCS_OK) || (model->scale->idle_cores == 0)) {
        return status;
    }

    return add_node_helpers(model, first, end, count);
}

/* Nodes that begin with the same recorded rank are the same, as long as they are
 * full and the ranks lie as recorded: one of them is looked at */
static ucs_status_t add_nodes(model_t *model)
{
    const predreg_scale_params_t *params = model->params;
    unsigned num_full                    = params->num_ranks /
                                           params->ranks_per_node;
    unsigned cycle                       = num_full;
    ucs_status_t status                  = UCS_OK;
    unsigned node;

    if (params->phase == PREDREG_PHASE_RECORDED) {
        cycle = ucs_min(num_full, model->num_results);
    }

    for (node = 0; (node < cycle) && (status == UCS_OK); ++node) {
        status = add_node(model, node, (num_full - node + cycle - 1) / cycle);
    }

    if ((status == UCS_OK) && (params->num_ranks % params->ranks_per_node)) {
        status = add_node(model, num_full, 1);
    }
    return status;
}

static void model_finish(model_t *model)
{
    predreg_scale_t *scale = model->scale;
    double time            = ucs_max(model->duration, 1l);

    scale->job_avg_bytes  *= NSEC_PER_SEC / time;
    scale->node_avg_bytes  = scale->job_avg_bytes / scale->num_nodes;
    scale->above           = model->above / time / scale->num_nodes;
    scale->above_avg_bytes = (model->above > 0) ?
                             (model->above_byte_ns / model->above) : 0;
    scale->helper_cores    = model->busy / time / scale->num_nodes;
    scale->delay_avg       = (scale->helper_regs > 0) ?
                             (model->delay / scale->helper_regs) : 0;
}

static ucs_status_t params_check(const predreg_scale_params_t *params,
                                 size_t num_results)
{
    if ((num_results == 0) || (params->num_ranks == 0) ||
        (params->ranks_per_node == 0)) {
        ucs_error("a job of %u ranks, %u a node, cannot be made of %zu: expected "
                  "at least 1 each", params->num_ranks, params->ranks_per_node,
                  num_results);
        return UCS_ERR_INVALID_PARAM;
    }

    if ((params->cores_per_node != 0) &&
        (params->cores_per_node < params->ranks_per_node)) {
        ucs_error("%u cores a node are too few for %u ranks",
                  params->cores_per_node, params->ranks_per_node);
        return UCS_ERR_INVALID_PARAM;
    }

    return UCS_OK;
}

ucs_status_t predreg_scale(const predreg_replay_result_t *results,
                           const int64_t *offsets, size_t num_results,
                           const predreg_scale_params_t *params,
                           predreg_scale_t *scale)
{
    model_t model = {
        .results     = results,
        .offsets     = offsets,
        .num_results = num_results,
        .params      = params,
        .scale       = scale
    };
    ucs_status_t status;
    size_t i;

    memset(scale, 0, sizeof(*scale));
    status = params_check(params, num_results);
    if (status != UCS_OK) {
        return status;
    }

    scale->num_nodes  = ucs_div_round_up(params->num_ranks,
                                         params->ranks_per_node);
    scale->idle_cores = (params->cores_per_node == 0) ?
                        params->ranks_per_node :
                        (params->cores_per_node - params->ranks_per_node);
    for (i = 0; i < num_results; ++i) {
        model.duration = ucs_max(model.duration,
                                 offsets[i] + (int64_t)results[i].duration);
    }

    status = add_nodes(&model);
    if (status == UCS_OK) {
        model_finish(&model);
    }
    return status;
}
