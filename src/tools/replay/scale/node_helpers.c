/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "node.h"

#include <ucs/base/tree.h>

#include <ucs/sys/compiler_def.h>
#include <ucs/sys/math.h>

#include <stdlib.h>


/* An operation of one of a node's helpers */
typedef struct job_op {
    int64_t  time;
    uint64_t duration;
    unsigned rank;      /* Rank within the node */
    int      is_reg;
} job_op_t;

/* A core that the helpers of a node share */
typedef struct core {
    ucs_rcache_pred_tree_node_t node;
    int64_t                     free_at; /* When it becomes free, ns */
} core_t;


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

static core_t *node_core(const ucs_rcache_pred_tree_node_t *node)
{
    return ucs_container_of(node, core_t, node);
}

static int is_free_earlier(const ucs_rcache_pred_tree_node_t *node,
                           const ucs_rcache_pred_tree_node_t *other)
{
    return node_core(node)->free_at < node_core(other)->free_at;
}

/* Cores are only looked for by when they are free */
static int no_sum(ucs_rcache_pred_tree_node_t *node)
{
    return 0;
}

/* Make the cores of a node, all of them free, in the order in which they become
 * free. @return the cores, to be freed, or NULL without memory. */
static core_t *make_cores(unsigned num_cores, ucs_rcache_pred_tree_t *tree)
{
    core_t *cores = malloc(num_cores * sizeof(*cores));
    unsigned i;

    ucs_rcache_pred_tree_init(tree, is_free_earlier, no_sum);
    for (i = 0; (i < num_cores) && (cores != NULL); ++i) {
        cores[i].free_at = INT64_MIN;
        ucs_rcache_pred_tree_insert(tree, &cores[i].node);
    }

    return cores;
}

/* Let an operation that may begin from a time on have the core that becomes
 * free first. @return when it begins. */
static int64_t run_op(ucs_rcache_pred_tree_t *cores, int64_t from,
                      uint64_t duration)
{
    core_t *core  = node_core(ucs_rcache_pred_tree_first(cores->root));
    int64_t begin = ucs_max(from, core->free_at);

    ucs_rcache_pred_tree_remove(cores, &core->node);
    core->free_at = begin + duration;
    ucs_rcache_pred_tree_insert(cores, &core->node);
    return begin;
}

/*
 * Run the operations. Helpers take the cores in the order in which they need
 * one, and each helper does one operation at a time. An operation waits only if
 * no core is free or its helper is busy.
 *
 * @param [in] ranks  When the helper of each rank becomes free, ns.
 */
static void run_ops(scale_model_t *model, const job_op_t *ops, size_t num_ops,
                    ucs_rcache_pred_tree_t *cores, int64_t *ranks,
                    unsigned count)
{
    predreg_scale_t *scale = model->scale;
    const job_op_t *op;
    uint64_t delay;
    int64_t begin;

    for (op = ops; op < ops + num_ops; ++op) {
        begin            = run_op(cores, ucs_max(op->time, ranks[op->rank]),
                                  op->duration);
        ranks[op->rank]  = begin + op->duration;
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
    ucs_rcache_pred_tree_t tree;
    int64_t *ranks;
    core_t *cores;
    job_op_t *ops;
    size_t num_ops;
    unsigned i;

    num_ops = list_ops(model, first, end, &ops);
    if (num_ops == SIZE_MAX) {
        goto out;
    }

    cores = make_cores(model->scale->idle_cores, &tree);
    if (cores == NULL) {
        goto out_free_ops;
    }

    ranks = malloc(num_ranks * sizeof(*ranks));
    if (ranks == NULL) {
        goto out_free_cores;
    }

    for (i = 0; i < num_ranks; ++i) {
        ranks[i] = INT64_MIN;
    }
    run_ops(model, ops, num_ops, &tree, ranks, count);
    free(ranks);
    status = UCS_OK;
out_free_cores:
    free(cores);
out_free_ops:
    free(ops);
out:
    return status;
}
