/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "findings.h"

#include <ucs/sys/math.h>

#include <string.h>


/* The run is divided into slots of equal length. @return the sum, over all slots, of the
 *         helper's working time in the slot, times the part of the slot in which the
 *         helper works. */
static double crowded_time(const predreg_replay_result_t *result)
{
    uint64_t width = result->duration / PREDREG_OUTCOME_SLOTS + 1;
    double crowded = 0;
    double busy[PREDREG_OUTCOME_SLOTS] = {0};
    const predreg_helper_op_t *op;
    uint64_t time, end, next;
    unsigned slot;

    predreg_for_each(op, result->helper_ops, result->num_helper_ops) {
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

/* Add the numbers of a result to the outcome of a rank */
static void
add_numbers(predreg_outcome_t *sum, const predreg_replay_result_t *more)
{
    PREDREG_RESULT_NUMBERS(PREDREG_NUMBER_ADD)
}

void predreg_outcome_add(predreg_outcome_t *outcome,
                         const predreg_replay_result_t *result)
{
    predreg_outcome_t rank = {
        .ranks          = 1,
        .bound_bytes    = result->bound_bytes,
        .bound_regions  = result->bound_regions,
        .average        = result->pinned_avg_bytes,
        .peak           = result->pinned.peak_bytes,
        .byte_seconds   = result->pinned.byte_seconds,
        .duration       = result->duration,
        .longest        = result->duration,
        .helper_crowded = crowded_time(result)
    };

    add_numbers(&rank, result);
    memcpy(rank.by_cause, result->pinned.by_cause, sizeof(rank.by_cause));
    memcpy(rank.prediction_errors, result->prediction_errors,
           sizeof(rank.prediction_errors));
    predreg_outcome_add_outcome(outcome, &rank);
}

void predreg_outcome_add_outcome(predreg_outcome_t *sum,
                                 const predreg_outcome_t *more)
{
    unsigned i;

    PREDREG_RESULT_NUMBERS(PREDREG_NUMBER_ADD)
    sum->ranks          += more->ranks;
    sum->bound_bytes     = ucs_max(sum->bound_bytes, more->bound_bytes);
    sum->bound_regions   = ucs_max(sum->bound_regions, more->bound_regions);
    sum->average        += more->average;
    sum->peak            = ucs_max(sum->peak, more->peak);
    sum->byte_seconds   += more->byte_seconds;
    sum->duration       += more->duration;
    sum->longest         = ucs_max(sum->longest, more->longest);
    sum->helper_crowded += more->helper_crowded;
    for (i = 0; i < PREDREG_CAUSE_LAST; ++i) {
        sum->by_cause[i] += more->by_cause[i];
    }
    for (i = 0; i < UCS_RCACHE_PRED_ERROR_CLASSES; ++i) {
        sum->prediction_errors[i] += more->prediction_errors[i];
    }
}

uint64_t predreg_bound_bytes(unsigned index)
{
    /* 2, 3, 4, 6, 8, 12, ... MiB */
    return ((uint64_t)(2 + (index % 2)) << (index / 2)) << 20;
}

unsigned predreg_bounds_to_try(uint64_t peak, uint64_t *limits)
{
    unsigned index = PREDREG_NUM_BOUNDS;
    unsigned count = 0;
    uint64_t bytes;

    while ((index-- > 0) && (count < PREDREG_MAX_TRIED)) {
        bytes = predreg_bound_bytes(index);
        if (bytes < peak) {
            limits[count++] = bytes;
        }
    }

    return count;
}

void predreg_bounds_add(predreg_outcome_t *outcomes,
                        const predreg_replay_result_t *pinned,
                        const predreg_replay_result_t *tried,
                        unsigned num_tried)
{
    const predreg_replay_result_t *result;
    uint64_t bytes;
    unsigned index;

    for (index = 0; index < PREDREG_NUM_BOUNDS; ++index) {
        bytes = predreg_bound_bytes(index);
        if (bytes >= pinned->pinned.peak_bytes) {
            predreg_outcome_add(&outcomes[index], pinned);
        } else {
            predreg_for_each(result, tried, num_tried) {
                if (result->bound_bytes == bytes) {
                    predreg_outcome_add(&outcomes[index], result);
                }
            }
        }
        outcomes[index].bound_bytes = bytes;
    }
}

int predreg_is_played(const predreg_findings_t *findings,
                      const predreg_outcome_t *outcome)
{
    return (outcome->ranks > 0) &&
           (outcome->ranks == predreg_pinned(findings)->ranks);
}

int predreg_has_curve(const predreg_findings_t *findings)
{
    unsigned i;

    for (i = 0; i < findings->budgets.num; ++i) {
        if (!predreg_is_played(findings, &findings->curve[i])) {
            return 0;
        }
    }

    return i > 0;
}

double predreg_extra_time(const predreg_findings_t *findings,
                          const predreg_outcome_t *outcome)
{
    double pinned = predreg_pinned(findings)->longest;

    return (pinned == 0) ? 0 : ((outcome->longest - pinned) / pinned);
}
