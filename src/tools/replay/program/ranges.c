/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ranges.h"

#include <tools/base/memory.h>

#include <search.h>
#include <stdlib.h>


/* Compare overlapping ranges as equal: a search then finds the range of a set that
 * overlaps the wanted range. The ranges of a set are disjoint, and so have an order. */
static int compare(const void *a, const void *b)
{
    const predreg_range_t *left  = a;
    const predreg_range_t *right = b;

    if (left->domain != right->domain) {
        return (left->domain < right->domain) ? -1 : 1;
    } else if (left->end <= right->start) {
        return -1;
    }

    return left->start >= right->end;
}

predreg_range_t *predreg_ranges_find(void *const *ranges,
                                     const predreg_range_t *range)
{
    void *node = tfind(range, ranges, compare);

    return (node == NULL) ? NULL : *(predreg_range_t**)node;
}

void predreg_ranges_insert(void **ranges, const predreg_range_t *range)
{
    predreg_range_t *copy = predreg_alloc(1, sizeof(*copy));

    *copy = *range;
    predreg_check_memory(tsearch(copy, ranges, compare));
}

void predreg_ranges_remove(void **ranges, predreg_range_t *range)
{
    tdelete(range, ranges, compare);
    free(range);
}

void predreg_ranges_cut(void **ranges, predreg_range_t *range, uint64_t start,
                        uint64_t end)
{
    predreg_range_t before = *range;
    predreg_range_t after  = *range;

    before.end   = start;
    after.start  = end;
    after.place += end - range->start;
    predreg_ranges_remove(ranges, range);
    if (before.start < before.end) {
        predreg_ranges_insert(ranges, &before);
    }
    if (after.start < after.end) {
        predreg_ranges_insert(ranges, &after);
    }
}

void predreg_ranges_cleanup(void **ranges)
{
    tdestroy(*ranges, free);
}
