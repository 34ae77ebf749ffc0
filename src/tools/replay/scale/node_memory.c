/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "node.h"

#include <ucs/sys/math.h>


/* Add a part of the curve of a rank. It may reach beyond the end of the job */
static void add_part(const scale_model_t *model, predreg_ledger_t *ledger,
                     int64_t begin, int64_t length, uint64_t bytes)
{
    int64_t end = begin + length;

    if (scale_is_ring(model) && (end > model->duration)) {
        predreg_ledger_add(ledger, 0, end - model->duration, bytes,
                           PREDREG_CAUSE_USE);
        end = model->duration;
    }
    predreg_ledger_add(ledger, begin, end, bytes, PREDREG_CAUSE_USE);
}

static void add_curve(const scale_model_t *model, predreg_ledger_t *ledger,
                      unsigned rank)
{
    const predreg_replay_result_t *result = scale_rank_result(model, rank);
    int64_t shift                         = scale_rank_shift(model, rank);
    const predreg_step_t *step;
    size_t i;

    for (i = 0; i + 1 < result->pinned.num_steps; ++i) {
        step = &result->pinned.curve[i];
        if (step->bytes > 0) {
            add_part(model, ledger, scale_time(model, step[0].time, shift),
                     step[1].time - step[0].time, step->bytes);
        }
    }
}

/* Add the curve of a node, which stands for this many nodes that are alike */
static void add_node_sum(scale_model_t *model, const predreg_sum_t *sum,
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

ucs_status_t scale_add_memory(scale_model_t *model, unsigned first,
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
