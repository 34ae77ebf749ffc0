/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "overlap.h"

#include <ucs/sys/math.h>

#include <stdlib.h>


static int buffer_compare(const void *a, const void *b)
{
    const predreg_buffer_t *first = a, *second = b;

    if (first->start != second->start) {
        return (first->start > second->start) ? 1 : -1;
    }

    if (first->end != second->end) {
        return (first->end > second->end) ? 1 : -1;
    }

    return (first->domain > second->domain) - (first->domain < second->domain);
}

static predreg_buffer_t buffer_of(const predreg_use_t *use)
{
    return (predreg_buffer_t){
        .start  = use->address,
        .end    = use->address + use->length,
        .domain = use->domain
    };
}

/* Sort the buffers, and remove those that stand twice */
static void sort_buffers(predreg_overlap_t *overlap)
{
    predreg_buffer_t *buffers = overlap->buffers;
    size_t num_unique         = 0;
    size_t i;

    qsort(buffers, overlap->num_buffers, sizeof(*buffers), buffer_compare);
    for (i = 0; i < overlap->num_buffers; ++i) {
        if ((i == 0) ||
            (buffer_compare(&buffers[i], &buffers[num_unique - 1]) != 0)) {
            buffers[num_unique++] = buffers[i];
        }
    }
    overlap->num_buffers = num_unique;
}

ucs_status_t predreg_overlap_init(predreg_overlap_t *overlap,
                                  const predreg_timeline_t *timeline)
{
    const predreg_use_t *use;

    /* Room for one more, because malloc() of 0 bytes may return NULL */
    overlap->num_buffers = 0;
    overlap->buffers     = malloc((timeline->num_uses + 1) *
                                  sizeof(*overlap->buffers));
    if (overlap->buffers == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    for (use = timeline->uses; use < timeline->uses + timeline->num_uses;
         ++use) {
        overlap->buffers[overlap->num_buffers++] = buffer_of(use);
    }
    sort_buffers(overlap);

    for (overlap->num_leaves = 1; overlap->num_leaves < overlap->num_buffers;
         overlap->num_leaves *= 2) {
    }

    overlap->ends = calloc(2 * overlap->num_leaves, sizeof(*overlap->ends));
    if (overlap->ends == NULL) {
        free(overlap->buffers);
        return UCS_ERR_NO_MEMORY;
    }

    return UCS_OK;
}

void predreg_overlap_cleanup(predreg_overlap_t *overlap)
{
    free(overlap->ends);
    free(overlap->buffers);
}

size_t predreg_overlap_find(const predreg_overlap_t *overlap,
                            const predreg_use_t *use)
{
    const predreg_buffer_t buffer = buffer_of(use);
    const predreg_buffer_t *found;

    found = bsearch(&buffer, overlap->buffers, overlap->num_buffers,
                    sizeof(buffer), buffer_compare);
    return found - overlap->buffers;
}

void predreg_overlap_set(predreg_overlap_t *overlap, size_t buffer, int is_on)
{
    uint64_t *ends = overlap->ends;
    size_t node    = overlap->num_leaves + buffer;

    ends[node] = is_on ? overlap->buffers[buffer].end : 0;
    for (node /= 2; node > 0; node /= 2) {
        ends[node] = ucs_max(ends[2 * node], ends[2 * node + 1]);
    }
}

/* @return the first leaf below a node that ends after start. There must be
 * one. */
static size_t descend(const predreg_overlap_t *overlap, size_t node,
                      uint64_t start)
{
    while (node < overlap->num_leaves) {
        node *= 2;
        if (overlap->ends[node] <= start) {
            ++node;
        }
    }
    return node - overlap->num_leaves;
}

size_t predreg_overlap_next(const predreg_overlap_t *overlap, size_t from,
                            uint64_t start, uint64_t end)
{
    size_t node = overlap->num_leaves + from;
    size_t buffer;

    if (from >= overlap->num_buffers) {
        return PREDREG_OVERLAP_NONE;
    }

    /* Go up to the first node that is not left of the leaf and has an end after
     * start: where a node has none, what is right of it is looked at next */
    while (overlap->ends[node] <= start) {
        while (node & 1) { /* A right child: its parent has been looked at */
            node /= 2;
            if (node == 0) {
                return PREDREG_OVERLAP_NONE; /* It was the root */
            }
        }
        ++node;
    }

    /* Buffers are sorted by start: the ones after this one begin no sooner */
    buffer = descend(overlap, node, start);
    return (overlap->buffers[buffer].start < end) ? buffer :
                                                    PREDREG_OVERLAP_NONE;
}
