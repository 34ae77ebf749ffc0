/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "cover.h"

#include <tools/replay/program/cost.h>
#include <ucs/rcache_pred/predict/cost.h>

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
    cover->ranges = malloc((num_ranges + 1) * sizeof(*cover->ranges));
    if (cover->ranges == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    cover->num_ranges = 0;
    cover->next       = ranges;
    cover->end        = ranges + num_ranges;
    return UCS_OK;
}

void predreg_cover_cleanup(predreg_cover_t *cover)
{
    free(cover->ranges);
}

static int index_compare(const void *a, const void *b)
{
    const predreg_range_t *first = a, *second = b;

    return (first->index > second->index) - (first->index < second->index);
}

static void cover_remove_ended(predreg_cover_t *cover, uint64_t page)
{
    size_t count = 0;
    size_t i;

    for (i = 0; i < cover->num_ranges; ++i) {
        if (cover->ranges[i].end > page) {
            cover->ranges[count++] = cover->ranges[i];
        }
    }
    cover->num_ranges = count;
}

void predreg_cover_move(predreg_cover_t *cover, uint64_t page)
{
    int sorted = 1;

    cover_remove_ended(cover, page);
    for (; (cover->next < cover->end) && (cover->next->first <= page);
         ++cover->next) {
        if (cover->next->end > page) {
            cover->ranges[cover->num_ranges++] = *cover->next;
            sorted                             = 0;
        }
    }

    if (!sorted) {
        qsort(cover->ranges, cover->num_ranges, sizeof(*cover->ranges),
              index_compare);
    }
}
