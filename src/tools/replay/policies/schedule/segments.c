/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "segments.h"

#include <tools/base/containers.h>
#include <ucs/rcache_pred/predict/policy.h>

#include <stdlib.h>


static void cover_init(predreg_cover_t *cover, const predreg_pages_t *ranges,
                       size_t num_ranges)
{
    *cover = (predreg_cover_t){
        .next   = ranges,
        .end    = ranges + num_ranges,
        .ranges = predreg_alloc(num_ranges, sizeof(*cover->ranges))
    };
}

PREDREG_COMPARE(index_compare, predreg_pages_t, index)

/* Move the sweep on to a higher page: drop ranges that end before it, and add ranges that
 * have begun */
static void cover_move(predreg_cover_t *cover, uint64_t page)
{
    size_t num_old = 0;
    size_t i;

    for (i = 0; i < cover->num_ranges; ++i) {
        if (cover->ranges[i].end > page) {
            cover->ranges[num_old++] = cover->ranges[i];
        }
    }

    cover->num_ranges = num_old;
    for (; (cover->next < cover->end) && (cover->next->first <= page);
         ++cover->next) {
        if (cover->next->end > page) {
            cover->ranges[cover->num_ranges++] = *cover->next;
        }
    }

    if (cover->num_ranges > num_old) {
        qsort(cover->ranges, cover->num_ranges, sizeof(*cover->ranges),
              index_compare);
    }
}

/* Whether no range holds this page or a higher one */
static int cover_is_done(const predreg_cover_t *cover)
{
    return (cover->num_ranges == 0) && (cover->next == cover->end);
}

static int page_compare(const void *a, const void *b)
{
    const uint64_t *first = a, *second = b;

    return (*first > *second) - (*first < *second);
}

PREDREG_COMPARE(range_compare, predreg_pages_t, domain, first, end, index)

static void add_cuts(predreg_segments_t *segments, const predreg_pages_t *range)
{
    segments->cuts[segments->num_cuts++] = range->first;
    segments->cuts[segments->num_cuts++] = range->end;
}

/* Sort the cuts, and remove duplicates */
static void sort_cuts(predreg_segments_t *segments)
{
    size_t num_unique = 0;
    size_t i;

    qsort(segments->cuts, segments->num_cuts, sizeof(*segments->cuts),
          page_compare);
    for (i = 0; i < segments->num_cuts; ++i) {
        if ((i == 0) || (segments->cuts[i] != segments->cuts[i - 1])) {
            segments->cuts[num_unique++] = segments->cuts[i];
        }
    }
    segments->num_cuts = num_unique;
}

/* Find the pages of a piece of memory, which is not empty */
static void set_pages(predreg_pages_t *pages, uint64_t address, uint64_t length)
{
    pages->first = address / PREDREG_PAGE_SIZE;
    pages->end   = pages->first + ucs_rcache_pred_pages(address, length,
                                                        PREDREG_PAGE_SIZE);
}

static void add_use(predreg_segments_t *segments, size_t index)
{
    const predreg_use_t *use = &segments->timeline->uses[index];
    predreg_pages_t *range   = &segments->uses[index];

    set_pages(range, use->address, use->length);
    range->index  = index;
    range->domain = use->domain;
    add_cuts(segments, range);
}

static void add_unmap(predreg_segments_t *segments, size_t index)
{
    const predreg_unmap_t *unmap = &segments->timeline->unmaps[index];
    predreg_pages_t *range       = &segments->unmaps[segments->num_unmaps];

    if (unmap->end > unmap->start) {
        set_pages(range, unmap->start, unmap->end - unmap->start);
        range->index = index;
        add_cuts(segments, range);
        ++segments->num_unmaps;
    }
}

void predreg_segments_init(predreg_segments_t *segments,
                           const predreg_timeline_t *timeline)
{
    size_t num_uses   = timeline->num_uses;
    size_t num_unmaps = timeline->num_unmaps;
    size_t i;

    *segments = (predreg_segments_t){
        .timeline = timeline,
        .uses     = predreg_alloc(num_uses, sizeof(*segments->uses)),
        .unmaps   = predreg_alloc(num_unmaps, sizeof(*segments->unmaps)),
        .cuts     = predreg_alloc(2 * (num_uses + num_unmaps),
                                  sizeof(*segments->cuts))
    };
    for (i = 0; i < num_uses; ++i) {
        add_use(segments, i);
    }
    for (i = 0; i < num_unmaps; ++i) {
        add_unmap(segments, i);
    }

    qsort(segments->uses, num_uses, sizeof(*segments->uses), range_compare);
    qsort(segments->unmaps, segments->num_unmaps, sizeof(*segments->unmaps),
          range_compare);
    sort_cuts(segments);
}

void predreg_segments_cleanup(predreg_segments_t *segments)
{
    free(segments->cuts);
    free(segments->unmaps);
    free(segments->uses);
}

static const uint64_t *find_cut(const predreg_segments_t *segments,
                                uint64_t page)
{
    return bsearch(&page, segments->cuts, segments->num_cuts,
                   sizeof(*segments->cuts), page_compare);
}

uint64_t predreg_segments_steps(const predreg_segments_t *segments)
{
    uint64_t steps = 0;
    const predreg_pages_t *range;

    predreg_for_each(range, segments->uses, segments->timeline->num_uses) {
        steps += find_cut(segments, range->end) -
                 find_cut(segments, range->first);
    }

    return steps;
}

/* Visit all used segments of a domain */
static void visit_domain(const predreg_segments_t *segments,
                         const predreg_pages_t *ranges, size_t num_ranges,
                         predreg_segment_func_t func, void *arg)
{
    const uint64_t *cut = find_cut(segments, ranges->first);
    predreg_cover_t uses, unmaps;

    cover_init(&uses, ranges, num_ranges);
    cover_init(&unmaps, segments->unmaps, segments->num_unmaps);
    for (cover_move(&uses, *cut); !cover_is_done(&uses);
         cover_move(&uses, *++cut)) {
        if (uses.num_ranges > 0) {
            cover_move(&unmaps, *cut);
            func(arg, &uses, &unmaps,
                 (cut[1] - cut[0]) * PREDREG_PAGE_SIZE);
        }
    }

    free(unmaps.ranges);
    free(uses.ranges);
}

void predreg_segments_visit(const predreg_segments_t *segments,
                            predreg_segment_func_t func, void *arg)
{
    const predreg_pages_t *end = segments->uses + segments->timeline->num_uses;
    const predreg_pages_t *first, *range;

    for (first = segments->uses; first < end; first = range) {
        range = first;
        while ((range < end) && (range->domain == first->domain)) {
            ++range;
        }
        visit_domain(segments, first, range - first, func, arg);
    }
}
