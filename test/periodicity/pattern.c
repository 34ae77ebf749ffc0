/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "pattern.h"

#include <stdlib.h>


ucs_status_t predreg_pattern_init(predreg_pattern_t *pattern, unsigned compared)
{
    *pattern = (predreg_pattern_t){
        .compared = compared,
        .samples  = calloc(compared, sizeof(*pattern->samples)),
        .equal    = calloc(compared, sizeof(*pattern->equal))
    };

    if ((pattern->samples == NULL) || (pattern->equal == NULL)) {
        predreg_pattern_cleanup(pattern);
        return UCS_ERR_NO_MEMORY;
    }

    return UCS_OK;
}

void predreg_pattern_cleanup(predreg_pattern_t *pattern)
{
    free(pattern->equal);
    free(pattern->samples);
}

/* @return the sample this far before the last one. Distance 0 means the last
 * one itself; the distance must be less than the number of samples that are
 * compared */
static predreg_sample_t *pattern_back(const predreg_pattern_t *pattern,
                                      unsigned distance)
{
    return &pattern->samples[(pattern->count - 1 - distance) %
                             pattern->compared];
}

void predreg_pattern_add(predreg_pattern_t *pattern, uint64_t value,
                         uint64_t time)
{
    unsigned m;

    ++pattern->count;
    *pattern_back(pattern, 0) = (predreg_sample_t){ value, time };
    for (m = 1; (m < pattern->compared) && (m < pattern->count); ++m) {
        if (pattern_back(pattern, m)->value == value) {
            ++pattern->equal[m];
        } else {
            pattern->equal[m] = 0;
        }
    }
}

unsigned predreg_pattern_period(const predreg_pattern_t *pattern)
{
    unsigned m;

    for (m = 1; m < pattern->compared; ++m) {
        if (pattern->equal[m] >= pattern->compared) {
            return m;
        }
    }

    return 0;
}

uint64_t predreg_pattern_interval(const predreg_pattern_t *pattern)
{
    unsigned m = predreg_pattern_period(pattern);
    uint64_t value, time;
    unsigned distance;

    if (m == 0) {
        return 0;
    }

    value = pattern_back(pattern, m)->value;
    time  = pattern_back(pattern, m)->time;
    for (distance = m - 1; pattern_back(pattern, distance)->value != value;
         --distance) {
        /* The sample one period ago, and so at the latest the loop's last one,
         * has this value */
    }

    return pattern_back(pattern, distance)->time - time;
}
