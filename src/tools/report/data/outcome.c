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

    for (i = 0; i < PREDREG_CAUSE_LAST; ++i) {
        outcome->by_cause[i] += result->pinned.by_cause[i];
    }

    for (i = 0; i < UCS_RCACHE_PRED_ERROR_CLASSES; ++i) {
        outcome->prediction_errors[i] += result->prediction_errors[i];
    }
}
