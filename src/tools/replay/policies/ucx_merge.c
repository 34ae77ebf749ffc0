/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ucx_merge.h"

#include <tools/replay/program/ranges.h>

#include <ucs/base/align.h>

#include <ucs/sys/math.h>

/* UCX merges adjacent regions up to this length, bytes: the default of
 * RCACHE_MAX_ADJACENT_SIZE in openucx/ucx #11803, src/ucs/memory/rcache.c */
#define MAX_ADJACENT (1ul << 30)


/* @return the whole pages that have a part of the memory [start, end). */
static predreg_range_t pages_of(uint64_t start, uint64_t end)
{
    return (predreg_range_t){ .start = ucs_round_down(start, PREDREG_PAGE_SIZE),
                              .end   = ucs_round_up(end, PREDREG_PAGE_SIZE) };
}

void predreg_ucx_mapped_add(predreg_ucx_mapped_t *mapped, uint64_t start, uint64_t end)
{
    predreg_range_t range   = pages_of(start, end);
    predreg_range_t touched = range;
    predreg_range_t *found;

    found = predreg_ranges_find(&mapped->ranges, &range);
    if ((found != NULL) && (found->start <= range.start) && (found->end >= range.end)) {
        return;
    }

    touched.start -= ucs_min(touched.start, 1ul);
    touched.end   += 1;
    while ((found = predreg_ranges_find(&mapped->ranges, &touched)) != NULL) {
        range.start = ucs_min(range.start, found->start);
        range.end   = ucs_max(range.end, found->end);
        predreg_ranges_remove(&mapped->ranges, found);
    }
    predreg_ranges_insert(&mapped->ranges, &range);
}

void predreg_ucx_mapped_remove(predreg_ucx_mapped_t *mapped, uint64_t start, uint64_t end)
{
    predreg_range_t range = pages_of(start, end);
    predreg_range_t *found;

    while ((found = predreg_ranges_find(&mapped->ranges, &range)) != NULL) {
        predreg_ranges_cut(&mapped->ranges, found, ucs_max(range.start, found->start),
                           ucs_min(range.end, found->end));
    }
}

/* Take back the maps after a time.
 * @param [in] num_maps  The number of maps that are not taken back yet.
 * @return the number of maps that are left. */
static size_t undo_maps(predreg_ucx_mapped_t *mapped, const predreg_map_t *maps,
                        size_t num_maps, uint64_t time)
{
    while ((num_maps > 0) && (maps[num_maps - 1].time > time)) {
        --num_maps;
        predreg_ucx_mapped_remove(mapped, maps[num_maps].start, maps[num_maps].end);
    }

    return num_maps;
}

/* Go through the events of the program from the last one to the first: memory is mapped
 * before a use of the memory, and is not before its mapping. Unmaps tell nothing: they may
 * be of memory that nobody can use, such as the ends of a larger mapping */
void predreg_ucx_mapped_init(predreg_ucx_mapped_t *mapped,
                             const predreg_timeline_t *timeline)
{
    size_t num_maps = timeline->num_maps;
    const predreg_use_t *use;
    size_t i;

    mapped->ranges = NULL;
    for (i = timeline->num_uses; i > 0; --i) {
        use      = &timeline->uses[i - 1];
        num_maps = undo_maps(mapped, timeline->maps, num_maps, use->begin);
        predreg_ucx_mapped_add(mapped, use->address, use->address + use->length);
    }
    for (i = 0; i < num_maps; ++i) {
        predreg_ucx_mapped_remove(mapped, timeline->maps[i].start, timeline->maps[i].end);
    }
}

void predreg_ucx_mapped_cleanup(predreg_ucx_mapped_t *mapped)
{
    predreg_ranges_cleanup(&mapped->ranges);
}

/* Extend a range over an adjacent region, if there is one, unless the result would be too
 * long or leave the mapping.
 * @param [in] region  The region, or NULL.
 * @return whether the range has the region. */
static int extend(const predreg_ucx_region_t *region, const predreg_range_t *mapping,
                  ucs_pgt_region_t *range)
{
    ucs_pgt_region_t both;

    if (region == NULL) {
        return 0;
    }

    both.start = ucs_min(range->start, region->super.start);
    both.end   = ucs_max(range->end, region->super.end);
    if (((both.end - both.start) > MAX_ADJACENT) || (both.start < mapping->start) ||
        (both.end > mapping->end)) {
        return 0;
    }

    *range = both;
    return 1;
}

/* Lengthen a range to the next power of 2, as far as the mapping has room.
 * @param [in] is_right  Whether the range grows to the right, and to the left only if there
 *                       is no more room, or the other way around. */
static void grow(const predreg_range_t *mapping, int is_right, ucs_pgt_region_t *range)
{
    uint64_t left   = range->start - mapping->start;
    uint64_t right  = mapping->end - range->end;
    uint64_t length = 1;
    uint64_t more;

    while (length < (range->end - range->start)) {
        length *= 2;
    }

    more = ucs_min(length - (range->end - range->start), left + right);
    if (is_right) {
        right = ucs_min(right, more);
        left  = more - right;
    } else {
        left  = ucs_min(left, more);
        right = more - left;
    }

    range->start -= left;
    range->end   += right;
}

void predreg_ucx_merge_adjacent(const predreg_ucx_regions_t *regions,
                                const predreg_ucx_mapped_t *mapped,
                                ucs_pgt_region_t *range)
{
    predreg_range_t wanted      = { .start = range->start, .end = range->end };
    predreg_ucx_region_t *left  = NULL;
    predreg_ucx_region_t *right = predreg_ucx_regions_find(regions, range->end, 1);
    const predreg_range_t *mapping;
    int has_left, has_right;

    if (range->start > 0) {
        left = predreg_ucx_regions_find(regions, range->start - 1, 1);
    }

    mapping = predreg_ranges_find(&mapped->ranges, &wanted);
    if ((mapping == NULL) || (mapping->start > range->start) ||
        (mapping->end < range->end)) {
        return;
    }

    has_left  = extend(left, mapping, range);
    has_right = extend(right, mapping, range);
    if (has_left && has_right) {
        grow(mapping, (mapping->end - range->end) >= (range->start - mapping->start), range);
    } else if (has_left || has_right) {
        grow(mapping, has_right, range);
    }
}
