/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "misses.h"

#include <ucs/sys/math.h>


static uint64_t misses_of(const predreg_outcome_t *outcome)
{
    return outcome->uses - ucs_min(outcome->hits, outcome->uses);
}

/* @return how many uses are too early in the life of their buffer */
static uint64_t misses_new(const predreg_findings_t *findings)
{
    return PREDREG_NEW_USES * findings->sum_buffers;
}

/* @return how many uses came within a quarter of the time between two uses of
 * when they were predicted */
static uint64_t misses_predicted(const predreg_outcome_t *outcome)
{
    uint64_t sum = 0;
    unsigned i;

    /* In the last class are errors of more than a quarter */
    for (i = 0; i < UCS_RCACHE_PRED_ERROR_CLASSES - 1; ++i) {
        sum += outcome->prediction_errors[i];
    }

    return sum;
}

uint64_t predreg_misses_irregular(const predreg_findings_t *findings)
{
    const predreg_outcome_t *predict =
            &findings->outcomes[PREDREG_REPLAY_PREDICT];
    uint64_t misses                  = misses_of(predict);
    uint64_t others                  = predict->late + misses_new(findings);
    uint64_t predicted               = misses_predicted(predict);

    /* Uses that came at another time than predicted, or without a prediction,
     * may have hit memory that was kept. So these are no more than there are
     * misses without another cause. */
    return ucs_min(misses - ucs_min(others, misses),
                   predict->uses - ucs_min(predicted, predict->uses));
}

predreg_misses_t predreg_misses_find(const predreg_findings_t *findings)
{
    const predreg_outcome_t *predict =
            &findings->outcomes[PREDREG_REPLAY_PREDICT];
    uint64_t misses                  = misses_of(predict);

    if (!predreg_is_played(findings, predict) || (misses == 0)) {
        return PREDREG_MISSES_NONE;
    } else if ((findings->known_regions > 0) &&
               (findings->max_buffers > findings->known_regions)) {
        return PREDREG_MISSES_FORGOTTEN;
    } else if (predict->late >= PREDREG_CAUSE_PART * misses) {
        return (predreg_outcome_load(predict) > PREDREG_BUSY_PART) ?
               PREDREG_MISSES_BUSY : PREDREG_MISSES_LATE;
    } else if (misses_new(findings) >= PREDREG_CAUSE_PART * misses) {
        return PREDREG_MISSES_NEW;
    } else if (predreg_misses_irregular(findings) >=
               PREDREG_CAUSE_PART * misses) {
        return PREDREG_MISSES_IRREGULAR;
    }

    return PREDREG_MISSES_OTHER;
}
