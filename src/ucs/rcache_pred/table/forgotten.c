/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "forgotten.h"

#include <ucs/base/hash.h>

#include <ucs/sys/math.h>

#include <stdlib.h>

/* So many more regions are remembered for each that has come back. With more
 * than one, the number is found before all of a program's buffers have come
 * back once, although marks are overwritten */
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

    /* calloc rather than malloc: it need not touch the pages */
    forgotten->marks = calloc(1ul << forgotten->bits,
                              sizeof(*forgotten->marks));
    return (forgotten->marks == NULL) ? UCS_ERR_NO_MEMORY : UCS_OK;
}

void ucs_rcache_pred_forgotten_cleanup(ucs_rcache_pred_forgotten_t *forgotten)
{
    free(forgotten->marks);
}

/* Find the place of a start, and the mark that tells it from others of the same
 * place */
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
