/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ranges.h"

#include <search.h>
#include <stdlib.h>


/* Overlapping ranges are equal, so that a search by any overlapping range finds
 * a range. The ranges of a set are disjoint, so that they have an order. */
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

ucs_status_t predreg_ranges_insert(void **ranges, const predreg_range_t *range)
{
    predreg_range_t *copy = malloc(sizeof(*copy));

    if (copy == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    *copy = *range;
    if (tsearch(copy, ranges, compare) == NULL) {
        free(copy);
        return UCS_ERR_NO_MEMORY;
    }

    return UCS_OK;
}

void predreg_ranges_remove(void **ranges, predreg_range_t *range)
{
    tdelete(range, ranges, compare);
    free(range);
}

ucs_status_t predreg_ranges_cut(void **ranges, predreg_range_t *range,
                                uint64_t start, uint64_t end)
{
    predreg_range_t before = *range;
    predreg_range_t after  = *range;
    ucs_status_t status    = UCS_OK;

    before.end   = start;
    after.start  = end;
    after.place += end - range->start;
    predreg_ranges_remove(ranges, range);
    if (before.start < before.end) {
        status = predreg_ranges_insert(ranges, &before);
    }
    if ((status == UCS_OK) && (after.start < after.end)) {
        status = predreg_ranges_insert(ranges, &after);
    }

    return status;
}

void predreg_ranges_cleanup(void **ranges)
{
    tdestroy(*ranges, free);
}
