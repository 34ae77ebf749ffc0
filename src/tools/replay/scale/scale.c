/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "scale.h"
#include "node.h"

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <string.h>

#define NSEC_PER_SEC 1e9


const char *predreg_phase_names[] = {
    [PREDREG_PHASE_RECORDED] = "recorded",
    [PREDREG_PHASE_RANDOM]   = "random",
    [PREDREG_PHASE_LAST]     = NULL
};


/* Add a node of the job, which stands for this many nodes that are alike */
static ucs_status_t add_node(scale_model_t *model, unsigned node,
                             unsigned count)
{
    unsigned first = node * model->params->ranks_per_node;
    unsigned end   = ucs_min(first + model->params->ranks_per_node,
                             model->params->num_ranks);
    ucs_status_t status;

    status = scale_add_memory(model, first, end, count);
    if ((status != UCS_OK) || (model->scale->idle_cores == 0)) {
        return status;
    }

    return scale_add_helpers(model, first, end, count);
}

/* Add all nodes of the job. Full nodes that begin with the same recorded rank
 * are alike, if the ranks lie in time as recorded. Only one of them is
 * computed */
static ucs_status_t add_nodes(scale_model_t *model)
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

static void model_finish(scale_model_t *model)
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
    scale_model_t model = {
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
