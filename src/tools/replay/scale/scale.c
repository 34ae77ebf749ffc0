/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "scale.h"

#include <tools/base/containers.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>

#define NSEC_PER_SEC 1e9


/* The larger job, summed up node by node */
typedef struct model {
    const predreg_replay_result_t *results;   /* One for each recorded rank */
    const int64_t                 *offsets;   /* The delay of each recorded rank, ns */
    size_t                        num_results;
    const predreg_scale_params_t  *params;
    predreg_scale_t               *scale;     /* The result */
    int64_t                       duration;   /* Duration of the job, ns */
    double                        above;      /* Sum over the nodes of the time
                                                 above node_max, ns */
    double                        above_byte_ns; /* Sum over the nodes of the bytes
                                                    above node_max, times ns */
    double                        busy;       /* Sum of the working times of all
                                                 helpers, ns */
    double                        delay;      /* Sum of the delays of all
                                                 registrations, ns */
} model_t;

/* An operation of one of a node's helpers */
typedef struct job_op {
    int64_t  time;
    uint64_t duration;
    unsigned rank;      /* Rank within the node */
    int      is_reg;
} job_op_t;


const char *predreg_phase_names[] = {
    [PREDREG_PHASE_RECORDED] = "recorded",
    [PREDREG_PHASE_RANDOM]   = "random",
    [PREDREG_PHASE_LAST]     = NULL
};


/* Turn consecutive numbers into unrelated ones, by the finalizer of the
 * generator splitmix64 (G. Steele et al., "Fast Splittable Pseudorandom Number
 * Generators", OOPSLA 2014) */
static uint64_t mix(uint64_t x)
{
    x += UCS_HASH_GOLDEN;
    x  = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ul;
    x  = (x ^ (x >> 27)) * 0x94d049bb133111ebul;
    return x ^ (x >> 31);
}

/* @return the result of a recorded rank, which this rank of the job repeats. */
static const predreg_replay_result_t *rank_result(const model_t *model,
                                                  unsigned rank)
{
    return &model->results[rank % model->num_results];
}

/* @return how much later than in its recording the events of a rank of the job happen,
 *         ns. */
static int64_t rank_shift(const model_t *model, unsigned rank)
{
    if (model->params->phase == PREDREG_PHASE_RECORDED) {
        return model->offsets[rank % model->num_results];
    }

    return (model->duration == 0) ? 0 : (mix(rank) % model->duration);
}

/* @return whether an event after the end of the job is moved to the begin of the job */
static int is_ring(const model_t *model)
{
    return (model->params->phase == PREDREG_PHASE_RANDOM) &&
           (model->duration > 0);
}

/* @return the time in the job of an event of a rank, ns. */
static int64_t time_of(const model_t *model, int64_t time, int64_t shift)
{
    time += shift;
    if (!is_ring(model)) {
        return time;
    }

    time %= model->duration;
    return (time < 0) ? (time + model->duration) : time;
}

/* Add a part of the curve of a rank. If events after the end of the job are moved to its
 * begin, so is the rest of the part that is after the end */
static void add_part(const model_t *model, predreg_ledger_t *ledger,
                     int64_t begin, int64_t length, uint64_t bytes)
{
    int64_t end = begin + length;

    if (is_ring(model) && (end > model->duration)) {
        predreg_ledger_add(ledger, 0, end - model->duration, bytes,
                           PREDREG_CAUSE_USE);
        end = model->duration;
    }
    predreg_ledger_add(ledger, begin, end, bytes, PREDREG_CAUSE_USE);
}

static void add_curve(const model_t *model, predreg_ledger_t *ledger,
                      unsigned rank)
{
    const predreg_sum_t *sum = &rank_result(model, rank)->pinned;
    int64_t shift            = rank_shift(model, rank);
    const predreg_step_t *step;
    size_t i;

    for (i = 0; i + 1 < sum->num_steps; ++i) {
        step = &sum->curve[i];
        if (step->bytes > 0) {
            add_part(model, ledger, time_of(model, step[0].time, shift),
                     step[1].time - step[0].time, step->bytes);
        }
    }
}

/* Add the curve of a node. @param [in] count  Number of equal nodes for which this node
 * stands. */
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

/* Add the registered memory of the ranks of a node */
static void add_memory(model_t *model, unsigned first, unsigned end,
                       unsigned count)
{
    predreg_ledger_t ledger = { .num_changes = 0 };
    predreg_sum_t sum;
    unsigned rank;

    for (rank = first; rank < end; ++rank) {
        add_curve(model, &ledger, rank);
    }

    predreg_ledger_sum(&ledger, &sum);
    add_node_sum(model, &sum, count);
    predreg_sum_cleanup(&sum);
}

PREDREG_COMPARE(op_compare, job_op_t, time, rank)

/* List the operations of all helpers of a node, sorted by time, for the caller
 * to free */
static job_op_t *list_ops(const model_t *model, unsigned first, unsigned end,
                          size_t *num_ops_p)
{
    const predreg_replay_result_t *result;
    const predreg_helper_op_t *op;
    size_t num_ops = 0;
    job_op_t *ops, *next;
    int64_t shift;
    unsigned rank;

    for (rank = first; rank < end; ++rank) {
        num_ops += rank_result(model, rank)->num_helper_ops;
    }

    next = ops = predreg_alloc(num_ops, sizeof(*ops));
    for (rank = first; rank < end; ++rank) {
        result = rank_result(model, rank);
        shift  = rank_shift(model, rank);
        predreg_for_each(op, result->helper_ops, result->num_helper_ops) {
            *next++ = (job_op_t){
                .time     = time_of(model, op->time, shift),
                .duration = op->duration,
                .rank     = rank - first,
                .is_reg   = op->is_reg
            };
        }
    }

    qsort(ops, num_ops, sizeof(*ops), op_compare);
    *num_ops_p = num_ops;
    return ops;
}

/* Let the core that becomes free first become free at a later time. The array is a heap of
 * the times when the cores become free: the first element is the earliest time. */
static void take_core(int64_t *cores, unsigned num_cores, int64_t free_at)
{
    unsigned i = 0;
    unsigned child;

    for (child = 1; child < num_cores; child = 2 * i + 1) {
        child += (child + 1 < num_cores) && (cores[child + 1] < cores[child]);
        if (cores[child] >= free_at) {
            break;
        }
        cores[i] = cores[child];
        i        = child;
    }

    cores[i] = free_at;
}

/* Run the operations. Helpers take the cores in the order in which they need one, and
 * each helper does one operation at a time. So an operation waits only for a free core,
 * and for the operation before of its own helper.
 * @param [in] free_at  When each core becomes free, and after the cores, when the helper
 *                      of each rank becomes free, ns. */
static void run_ops(model_t *model, const job_op_t *ops, size_t num_ops,
                    int64_t *free_at, unsigned num_cores, unsigned count)
{
    predreg_scale_t *scale = model->scale;
    const job_op_t *op;
    int64_t *helper;
    uint64_t delay;
    int64_t begin;

    predreg_for_each(op, ops, num_ops) {
        helper       = &free_at[num_cores + op->rank];
        begin        = ucs_max(ucs_max(op->time, *helper), free_at[0]);
        *helper      = begin + op->duration;
        model->busy += (double)count * op->duration;
        take_core(free_at, num_cores, *helper);
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

/* Add the work of the helpers of a node, which share the idle cores; there is at least
 * one */
static void add_helpers(model_t *model, unsigned first, unsigned end,
                        unsigned count)
{
    unsigned num_ranks = end - first;
    unsigned num_cores = model->scale->idle_cores;
    int64_t *free_at;
    job_op_t *ops;
    size_t num_ops;
    unsigned i;

    free_at = predreg_alloc((size_t)num_cores + num_ranks, sizeof(*free_at));
    for (i = 0; i < num_cores + num_ranks; ++i) {
        free_at[i] = INT64_MIN;
    }

    ops = list_ops(model, first, end, &num_ops);
    run_ops(model, ops, num_ops, free_at, num_cores, count);
    free(ops);
    free(free_at);
}

/* Add a node of the job. @param [in] count  Number of equal nodes for which this node
 * stands. */
static void add_node(model_t *model, unsigned node, unsigned count)
{
    unsigned first = node * model->params->ranks_per_node;
    unsigned end   = ucs_min(first + model->params->ranks_per_node,
                             model->params->num_ranks);

    add_memory(model, first, end, count);
    if (model->scale->idle_cores > 0) {
        add_helpers(model, first, end, count);
    }
}

/* Add all nodes of the job. In the recorded phase, full nodes that begin with
 * the same recorded rank are equal, and the first of them stands for all */
static void add_nodes(model_t *model)
{
    const predreg_scale_params_t *params = model->params;
    unsigned num_full                    = params->num_ranks /
                                           params->ranks_per_node;
    unsigned cycle                       = num_full;
    unsigned node;

    if (params->phase == PREDREG_PHASE_RECORDED) {
        cycle = ucs_min(num_full, model->num_results);
    }

    for (node = 0; node < cycle; ++node) {
        add_node(model, node, (num_full - node + cycle - 1) / cycle);
    }

    if (params->num_ranks % params->ranks_per_node) {
        add_node(model, num_full, 1);
    }
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
        ucs_error("a job of %u ranks, %u a node, cannot be made of %zu: "
                  "expected at least 1 each", params->num_ranks,
                  params->ranks_per_node, num_results);
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

    add_nodes(&model);
    model_finish(&model);
    return UCS_OK;
}
