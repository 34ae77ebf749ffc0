/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "gain.h"

#include <ucs/sys/math.h>


const char *predreg_gain_advice_name(predreg_gain_advice_t advice)
{
    static const char *const names[] = {
        [PREDREG_GAIN_NONE]   = "none",
        [PREDREG_GAIN_UNUSED] = "unused",
        [PREDREG_GAIN_LOSES]  = "loses",
        [PREDREG_GAIN_LITTLE] = "little",
        [PREDREG_GAIN_YES]    = "yes"
    };

    return names[advice];
}

void predreg_gain_add(predreg_gain_t *gain,
                      const predreg_replay_result_t *predict,
                      const predreg_replay_result_t *arena)
{
    if (arena->limit == 0) {
        return;
    }

    ++gain->ranks;
    gain->uses            += arena->uses;
    gain->answered        += arena->answered;
    gain->saved           += predict->waited - arena->waited;
    gain->time            += predict->duration;
    gain->size             = ucs_max(gain->size, arena->limit);
    gain->average         += arena->pinned_avg_bytes;
    gain->predict_average += predict->pinned_avg_bytes;
}

predreg_gain_advice_t predreg_gain_advise(const predreg_gain_t *gain)
{
    if (gain->ranks == 0) {
        return PREDREG_GAIN_NONE;
    }

    if (gain->answered == 0) {
        return PREDREG_GAIN_UNUSED;
    }

    if (gain->saved < 0) {
        return PREDREG_GAIN_LOSES;
    }

    return (gain->saved < PREDREG_GAIN_WORTH_PART * gain->time) ?
           PREDREG_GAIN_LITTLE : PREDREG_GAIN_YES;
}
