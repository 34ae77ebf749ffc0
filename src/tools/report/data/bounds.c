/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "bounds.h"


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
        }

        for (result = tried; result < tried + num_tried; ++result) {
            if ((result->limit == bytes) &&
                (bytes < pinned->pinned.peak_bytes)) {
                predreg_outcome_add(&outcomes[index], result);
            }
        }
        outcomes[index].limit = bytes;
    }
}
