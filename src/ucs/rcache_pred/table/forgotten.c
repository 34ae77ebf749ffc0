/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "forgotten.h"

#include <ucs/base/hash.h>

#include <ucs/sys/math.h>

#include <stdlib.h>

/* How many more regions are remembered for each forgotten region that the program uses
 * again. With more than one, the number is large enough before all buffers of a program
 * were used again once, although some marks are overwritten */
#define GROWTH 2


ucs_status_t
ucs_rcache_pred_forgotten_init(ucs_rcache_pred_forgotten_t *forgotten,
                               unsigned bound)
{
    forgotten->bits  = 1;
    forgotten->bound = bound;
    forgotten->limit = ucs_min(bound, UCS_RCACHE_PRED_FIRST_REGIONS);
    while ((1u << forgotten->bits) < bound) {
        ++forgotten->bits;
    }

    /* calloc rather than malloc: calloc need not touch pages that never have a mark */
    forgotten->marks = calloc(1ul << forgotten->bits,
                              sizeof(*forgotten->marks));
    return (forgotten->marks == NULL) ? UCS_ERR_NO_MEMORY : UCS_OK;
}

void ucs_rcache_pred_forgotten_cleanup(ucs_rcache_pred_forgotten_t *forgotten)
{
    free(forgotten->marks);
}

/* @return the place for the mark of a start.
 * @param [out] mark_p  The mark, which tells this start from most others with the same
 *         place */
static uint32_t *find_place(ucs_rcache_pred_forgotten_t *forgotten,
                            uintptr_t start, uint32_t *mark_p)
{
    uint64_t hash = ucs_hash_bits(start, 64);

    *mark_p = (uint32_t)hash | 1;
    return &forgotten->marks[hash >> (64 - forgotten->bits)];
}

void ucs_rcache_pred_forgotten_add(ucs_rcache_pred_forgotten_t *forgotten,
                                   uintptr_t start)
{
    uint32_t *place, mark;

    place  = find_place(forgotten, start, &mark);
    *place = mark;
}

int ucs_rcache_pred_forgotten_return(ucs_rcache_pred_forgotten_t *forgotten,
                                     uintptr_t start)
{
    uint32_t *place, mark;

    place = find_place(forgotten, start, &mark);
    if (*place != mark) {
        return 0;
    }

    *place = 0;
    if (forgotten->limit == forgotten->bound) {
        return 1;
    }

    forgotten->limit += ucs_min(GROWTH, forgotten->bound - forgotten->limit);
    return 0;
}
