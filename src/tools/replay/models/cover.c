/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "cover.h"

#include <tools/replay/program/costs.h>
#include <ucs/rcache_pred/predict/policy.h>

#include <stdlib.h>


void predreg_range_of(uint64_t address, uint64_t length, predreg_range_t *range)
{
    range->first = address / PREDREG_PAGE_SIZE;
    range->end   = range->first + ucs_rcache_pred_pages(address, length,
                                                          PREDREG_PAGE_SIZE);
}

ucs_status_t predreg_cover_init(predreg_cover_t *cover,
                                const predreg_range_t *ranges,
                                size_t num_ranges)
{
    /* Room for one more, because malloc() of 0 bytes may return NULL */
    *cover = (predreg_cover_t){
        .next   = ranges,
        .end    = ranges + num_ranges,
        .ranges = malloc((num_ranges + 1) * sizeof(*cover->ranges)),
        .spare  = malloc((num_ranges + 1) * sizeof(*cover->spare)),
        .added  = malloc((num_ranges + 1) * sizeof(*cover->added))
    };
    if ((cover->ranges == NULL) || (cover->spare == NULL) ||
        (cover->added == NULL)) {
        predreg_cover_cleanup(cover);
        return UCS_ERR_NO_MEMORY;
    }

    return UCS_OK;
}

void predreg_cover_cleanup(predreg_cover_t *cover)
{
    free(cover->added);
    free(cover->spare);
    free(cover->ranges);
}

static int index_compare(const void *a, const void *b)
{
    const predreg_range_t *first = a, *second = b;

    return (first->index > second->index) - (first->index < second->index);
}

/* Collect the ranges that the sweep has newly reached, sorted by index.
 * @return their number. */
static size_t cover_reach(predreg_cover_t *cover, uint64_t page)
{
    size_t count = 0;

    for (; (cover->next < cover->end) && (cover->next->first <= page);
         ++cover->next) {
        if (cover->next->end > page) {
            cover->added[count++] = *cover->next;
        }
    }

    if (count > 1) {
        qsort(cover->added, count, sizeof(*cover->added), index_compare);
    }
    return count;
}

void predreg_cover_move(predreg_cover_t *cover, uint64_t page)
{
    size_t num_added             = cover_reach(cover, page);
    const predreg_range_t *added = cover->added;
    const predreg_range_t *old   = cover->ranges;
    const predreg_range_t *end   = old + cover->num_ranges;
    predreg_range_t *to          = cover->spare;

    /* Merge those that have been reached with those that go on */
    for (; old < end; ++old) {
        if (old->end <= page) {
            continue;
        }

        for (; (num_added > 0) && (added->index < old->index); --num_added) {
            *to++ = *added++;
        }
        *to++ = *old;
    }
    for (; num_added > 0; --num_added) {
        *to++ = *added++;
    }

    cover->num_ranges = to - cover->spare;
    to                = cover->ranges;
    cover->ranges     = cover->spare;
    cover->spare      = to;
}
