/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "outcome.h"

#include <ucs/sys/math.h>


/* @return the time that the helper works, each part of it times how much of its
 * slot of the run is taken by work */
static double outcome_crowded(const predreg_replay_result_t *result)
{
    uint64_t width = result->duration / PREDREG_OUTCOME_SLOTS + 1;
    double crowded = 0;
    double busy[PREDREG_OUTCOME_SLOTS] = {0};
    const predreg_helper_op_t *op;
    uint64_t time, end, next;
    unsigned slot;
    size_t i;

    for (i = 0; i < result->num_helper_ops; ++i) {
        op  = &result->helper_ops[i];
        end = op->time + op->duration;
        for (time = op->time; time < end; time = next) {
            slot        = ucs_min(time / width, PREDREG_OUTCOME_SLOTS - 1);
            next        = (slot < PREDREG_OUTCOME_SLOTS - 1) ?
                          ucs_min((slot + 1) * width, end) : end;
            busy[slot] += next - time;
        }
    }

    for (slot = 0; slot < PREDREG_OUTCOME_SLOTS; ++slot) {
        crowded += busy[slot] * ucs_min(busy[slot] / width, 1);
    }

    return crowded;
}

void predreg_outcome_add(predreg_outcome_t *outcome,
                         const predreg_replay_result_t *result)
{
    unsigned i;

    ++outcome->ranks;
    outcome->limit         = ucs_max(outcome->limit, result->limit);
    outcome->average      += result->pinned_avg_bytes;
    outcome->peak          = ucs_max(outcome->peak, result->pinned.peak_bytes);
    outcome->byte_seconds += result->pinned.byte_seconds;
    outcome->uses         += result->uses;
    outcome->hits         += result->hits;
    outcome->late         += result->late;
    outcome->early        += result->early;
    outcome->wasted       += result->wasted;
    outcome->regs         += result->regs;
    outcome->waited       += result->waited;
    outcome->duration     += result->duration;
    outcome->longest       = ucs_max(outcome->longest, result->duration);
    outcome->helper       += result->helper;
    outcome->helper_crowded += outcome_crowded(result);

    for (i = 0; i < PREDREG_CAUSE_LAST; ++i) {
        outcome->by_cause[i] += result->pinned.by_cause[i];
    }

    for (i = 0; i < UCS_RCACHE_PRED_ERROR_CLASSES; ++i) {
        outcome->prediction_errors[i] += result->prediction_errors[i];
    }
}
