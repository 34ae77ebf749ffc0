/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "model.h"

#include <ucs/base/hash.h>


/* Turn consecutive numbers into unrelated ones, by the finalizer of the
 * generator splitmix64 (G. Steele et al., "Fast Splittable Pseudorandom Number
 * Generators", OOPSLA 2014) */
static uint64_t mix(uint64_t x)
{
    x += UCS_RCACHE_PRED_HASH_GOLDEN;
    x  = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ul;
    x  = (x ^ (x >> 27)) * 0x94d049bb133111ebul;
    return x ^ (x >> 31);
}

const predreg_replay_result_t *scale_rank_result(const scale_model_t *model,
                                                 unsigned rank)
{
    return &model->results[rank % model->num_results];
}

int64_t scale_rank_shift(const scale_model_t *model, unsigned rank)
{
    if (model->params->phase == PREDREG_PHASE_RECORDED) {
        return model->offsets[rank % model->num_results];
    }

    return (model->duration == 0) ? 0 : (mix(rank) % model->duration);
}

int scale_is_ring(const scale_model_t *model)
{
    return (model->params->phase == PREDREG_PHASE_RANDOM) &&
           (model->duration > 0);
}

int64_t scale_time(const scale_model_t *model, int64_t time, int64_t shift)
{
    time += shift;
    if (!scale_is_ring(model)) {
        return time;
    }

    time %= model->duration;
    return (time < 0) ? (time + model->duration) : time;
}
