/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "first_uses.h"

#include <ucs/sys/math.h>

#include <search.h>
#include <stdlib.h>


typedef struct range {
    unsigned domain;
    uint64_t start;
    uint64_t end;   /* > start */
} range_t;


/* Ranges that overlap are equal. In a tree none do, so that its order is clear,
 * and a range is found by any that overlaps it. */
static int compare_ranges(const void *a, const void *b)
{
    const range_t *left  = a;
    const range_t *right = b;

    if (left->domain != right->domain) {
        return (left->domain < right->domain) ? -1 : 1;
    } else if (left->end <= right->start) {
        return -1;
    }

    return left->start >= right->end;
}

/* Whether a range has all of another one */
static int covers(const range_t *outer, const range_t *inner)
{
    return (outer->start <= inner->start) && (outer->end >= inner->end);
}

/* @return a range of the tree that overlaps this one, or NULL. */
static range_t *find_range(const predreg_first_uses_t *uses,
                           const range_t *range)
{
    void *node = tfind(range, &uses->registered, compare_ranges);

    return (node == NULL) ? NULL : *(range_t**)node;
}

static void remove_range(predreg_first_uses_t *uses, range_t *range)
{
    tdelete(range, &uses->registered, compare_ranges);
    free(range);
}

static ucs_status_t insert_range(predreg_first_uses_t *uses,
                                 const range_t *range)
{
    range_t *copy = malloc(sizeof(*copy));

    if (copy == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    *copy = *range;
    if (tsearch(copy, &uses->registered, compare_ranges) == NULL) {
        free(copy);
        return UCS_ERR_NO_MEMORY;
    }

    return UCS_OK;
}

ucs_status_t predreg_first_uses_begin(predreg_first_uses_t *uses,
                                      unsigned domain, uint64_t address,
                                      uint64_t length, uint64_t duration)
{
    const range_t used = { domain, address, address + length };
    range_t merged     = used;
    int is_alone       = 1;
    ucs_status_t status;
    range_t *other;

    while ((other = find_range(uses, &merged)) != NULL) {
        if (covers(other, &used)) {
            return UCS_OK;
        }

        /* Memory of which a smaller part was registered before is registered
         * as a whole */
        is_alone     = is_alone && covers(&used, other);
        merged.start = ucs_min(merged.start, other->start);
        merged.end   = ucs_max(merged.end, other->end);
        remove_range(uses, other);
    }

    uses->num_domains = ucs_max(uses->num_domains, domain + 1);
    status            = insert_range(uses, &merged);
    if ((status != UCS_OK) || !is_alone || (duration == 0)) {
        return status;
    }

    return predreg_points_add(&uses->points, address, length, duration);
}

/* Remove a part of a range from the tree, such as one that was unmapped. What is
 * left of the range before and after the part becomes ranges of their own. */
static ucs_status_t cut_range(predreg_first_uses_t *uses, range_t *range,
                              const range_t *part)
{
    range_t before      = { range->domain, range->start, part->start };
    range_t after       = { range->domain, part->end, range->end };
    ucs_status_t status = UCS_OK;

    remove_range(uses, range);
    if (before.start < before.end) {
        status = insert_range(uses, &before);
    }
    if ((status == UCS_OK) && (after.start < after.end)) {
        status = insert_range(uses, &after);
    }

    return status;
}

ucs_status_t predreg_first_uses_unmap(predreg_first_uses_t *uses,
                                      uint64_t start, uint64_t end)
{
    range_t part        = { 0, start, end };
    ucs_status_t status = UCS_OK;
    range_t *range;

    for (; (start < end) && (part.domain < uses->num_domains); ++part.domain) {
        while ((status == UCS_OK) &&
               ((range = find_range(uses, &part)) != NULL)) {
            status = cut_range(uses, range, &part);
        }
    }

    return status;
}

void predreg_first_uses_cleanup(predreg_first_uses_t *uses)
{
    tdestroy(uses->registered, free);
    predreg_points_cleanup(&uses->points);
}
