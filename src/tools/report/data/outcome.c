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

#include <string.h>


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
    predreg_outcome_t rank = {
        .ranks          = 1,
        .limit          = result->limit,
        .average        = result->pinned_avg_bytes,
        .peak           = result->pinned.peak_bytes,
        .byte_seconds   = result->pinned.byte_seconds,
        .uses           = result->uses,
        .hits           = result->hits,
        .late           = result->late,
        .early          = result->early,
        .wasted         = result->wasted,
        .regs           = result->regs,
        .waited         = result->waited,
        .duration       = result->duration,
        .longest        = result->duration,
        .helper         = result->helper,
        .helper_crowded = outcome_crowded(result)
    };

    memcpy(rank.by_cause, result->pinned.by_cause, sizeof(rank.by_cause));
    memcpy(rank.prediction_errors, result->prediction_errors,
           sizeof(rank.prediction_errors));
    predreg_outcome_add_outcome(outcome, &rank);
}

void predreg_outcome_add_outcome(predreg_outcome_t *outcome,
                                 const predreg_outcome_t *more)
{
    unsigned i;

    outcome->ranks          += more->ranks;
    outcome->limit           = ucs_max(outcome->limit, more->limit);
    outcome->average        += more->average;
    outcome->peak            = ucs_max(outcome->peak, more->peak);
    outcome->byte_seconds   += more->byte_seconds;
    outcome->uses           += more->uses;
    outcome->hits           += more->hits;
    outcome->late           += more->late;
    outcome->early          += more->early;
    outcome->wasted         += more->wasted;
    outcome->regs           += more->regs;
    outcome->waited         += more->waited;
    outcome->duration       += more->duration;
    outcome->longest         = ucs_max(outcome->longest, more->longest);
    outcome->helper         += more->helper;
    outcome->helper_crowded += more->helper_crowded;

    for (i = 0; i < PREDREG_CAUSE_LAST; ++i) {
        outcome->by_cause[i] += more->by_cause[i];
    }

    for (i = 0; i < UCS_RCACHE_PRED_ERROR_CLASSES; ++i) {
        outcome->prediction_errors[i] += more->prediction_errors[i];
    }
}
