/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "kept.h"
#include "segments.h"

#include <tools/base/containers.h>

#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>


/* Find the cluster of each use: go over the ranges of pages of all uses in the order of their
 * starts. A range that starts behind the end of all ranges before it begins a new cluster */
static void find_clusters(predreg_future_t *future, const predreg_segments_t *segments)
{
    const predreg_pages_t *last = NULL;
    uint64_t end                = 0; /* Of the cluster, a page */
    const predreg_pages_t *range;

    predreg_for_each(range, segments->uses, future->timeline->num_uses) {
        if ((last == NULL) || (range->domain != last->domain) || (range->first >= end)) {
            ++future->num_clusters;
            end = 0;
        }
        if ((end == 0) || (range->first != last->first) || (range->end != last->end)) {
            ++future->num_ranges;
        }
        future->clusters[range->index] = future->num_clusters - 1;
        end                            = ucs_max(end, range->end);
        last                           = range;
    }
}

void predreg_future_init(predreg_future_t *future, const predreg_timeline_t *timeline)
{
    size_t num_uses = timeline->num_uses;
    predreg_segments_t segments;
    size_t *later; /* For each cluster, the use after the present one, plus 1 */
    size_t i;

    *future = (predreg_future_t){
        .timeline = timeline,
        .clusters = predreg_alloc(num_uses, sizeof(*future->clusters)),
        .next     = predreg_alloc(num_uses, sizeof(*future->next))
    };
    predreg_segments_init(&segments, timeline);
    find_clusters(future, &segments);
    predreg_segments_cleanup(&segments);

    later = predreg_alloc(future->num_clusters, sizeof(*later));
    for (i = num_uses; i-- > 0;) {
        future->next[i]            = later[future->clusters[i]] - 1;
        later[future->clusters[i]] = i + 1;
    }
    free(later);
}

void predreg_future_cleanup(predreg_future_t *future)
{
    free(future->next);
    free(future->clusters);
}

void predreg_kept_init(predreg_kept_all_t *all, const predreg_future_t *future)
{
    *all = (predreg_kept_all_t){
        .future = future,
        .first  = predreg_alloc(future->num_clusters, sizeof(*all->first))
    };
}

void predreg_kept_copy(predreg_kept_all_t *all, const predreg_kept_all_t *from)
{
    *all       = *from;
    all->list  = predreg_grow_copy(from->list, from->num, sizeof(*all->list));
    all->first = predreg_grow_copy(from->first, from->future->num_clusters,
                                   sizeof(*all->first));
}

void predreg_kept_cleanup(predreg_kept_all_t *all)
{
    free(all->first);
    free(all->list);
}

void predreg_kept_add(predreg_kept_all_t *all, const predreg_kept_t *kept)
{
    uint32_t *first = &all->first[all->future->clusters[kept->use]];
    predreg_kept_t *added;

    added       = predreg_add(all->list, all->num);
    *added      = *kept;
    added->link = *first;
    *first      = all->num;
    all->bytes += kept->bytes;
}

/* @return the link to the registration at a place of the list. */
static uint32_t *link_to(predreg_kept_all_t *all, size_t place)
{
    uint32_t *link = &all->first[all->future->clusters[all->list[place].use]];

    while (*link != place + 1) {
        link = &all->list[*link - 1].link;
    }
    return link;
}

void predreg_kept_remove(predreg_kept_all_t *all, size_t place)
{
    predreg_kept_t *kept = &all->list[place];

    all->bytes           -= kept->bytes;
    all->num_lost        -= kept->is_lost;
    *link_to(all, place)  = kept->link;
    if (place != --all->num) {
        *link_to(all, all->num) = place + 1;
        *kept                   = all->list[all->num];
    }
}

static int serves(const predreg_future_t *future, const predreg_kept_t *kept, size_t use)
{
    const predreg_use_t *has  = &future->timeline->uses[kept->use];
    const predreg_use_t *want = &future->timeline->uses[use];

    return (has->address <= want->address) &&
           (has->address + has->length >= want->address + want->length);
}

static int loses(const predreg_future_t *future, const predreg_kept_t *kept,
                 const predreg_unmap_t *unmap)
{
    const predreg_use_t *has = &future->timeline->uses[kept->use];

    return (unmap->start < unmap->end) && (has->address < unmap->end) &&
           (has->address + has->length > unmap->start);
}

predreg_kept_t *predreg_kept_find(const predreg_kept_all_t *all, size_t use)
{
    uint32_t i = all->first[all->future->clusters[use]];
    predreg_kept_t *kept;

    for (; i > 0; i = kept->link) {
        kept = &all->list[i - 1];
        if (!kept->is_lost && serves(all->future, kept, use)) {
            return kept;
        }
    }

    return NULL;
}

void predreg_kept_unmap(predreg_kept_all_t *all, const predreg_unmap_t *unmap)
{
    predreg_kept_t *kept;

    predreg_for_each(kept, all->list, all->num) {
        if (!kept->is_lost && loses(all->future, kept, unmap)) {
            kept->is_lost = 1;
            ++all->num_lost;
        }
    }
}

/* @return the first use of a registration that is served, from a use on. */
static size_t find_later(const predreg_future_t *future, const predreg_kept_t *kept,
                         size_t use, size_t unmap)
{
    const predreg_timeline_t *timeline = future->timeline;

    while ((use != PREDREG_NO_USE) && !serves(future, kept, use)) {
        use = future->next[use];
    }

    for (; (use != PREDREG_NO_USE) && (unmap < timeline->num_unmaps) &&
           (timeline->unmaps[unmap].time <= timeline->uses[use].begin); ++unmap) {
        if (loses(future, kept, &timeline->unmaps[unmap])) {
            return PREDREG_NO_USE;
        }
    }

    return use;
}

void predreg_kept_look_ahead(predreg_kept_all_t *all, size_t present, size_t unmap)
{
    const predreg_future_t *future = all->future;
    uint32_t i                     = all->first[future->clusters[present]];
    predreg_kept_t *kept;

    for (; i > 0; i = kept->link) {
        kept = &all->list[i - 1];
        if (kept->later <= present) {
            kept->later = find_later(future, kept, future->next[present], unmap);
        }
    }
}
