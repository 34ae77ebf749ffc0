/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "decide.h"
#include "helper.h"
#include "spend.h"

#include <ucs/rcache_pred/cache/bound.h>
#include <ucs/rcache_pred/cache/slices.h>
#include <ucs/rcache_pred/table/known.h>

#include <ucs/debug/log_def.h>

/* The most regions that a merge looks at on either side of a region, so that it holds the
 * lock for some us. Regions further away overlap the merged region, and a later merge
 * takes them in */
#define MAX_LOOKS 64

/* How often the helper looks whether a region could be merged, ns. A merge that is not
 * worth its time now becomes worth more the longer the process runs */
#define LOOK_EVERY 10000000

/* A group of regions to merge: a kept region, the regions that overlap or touch it, and, step by
 * step, the regions that overlap or touch a region of the group */
typedef struct {
    ucs_rcache_pred_range_t range; /* From the first to the last byte of all of them */
    uint64_t                bytes; /* Sum of the pinned bytes of all regions */
    unsigned                count; /* Number of the others, without the kept region */
} overlap_t;


/* Whether an extent can be merged with others now: it is registered, and no attempt to
 * merge it has failed before. Under lock. */
static int can_merge(const ucs_rcache_pred_extent_t *extent)
{
    return !extent->apart &&
           (extent->state == UCS_RCACHE_PRED_EXTENT_REGISTERED);
}

/* Whether a merge into a region is worth a look: another extent was registered that
 * overlaps or touches it, it is not in use, and no attempt to merge it has failed before.
 * Under lock. */
static int may_merge(const ucs_rcache_pred_region_t *region)
{
    const ucs_rcache_pred_extent_t *extent = &region->extent;

    return (extent->maybe_spare || extent->touches) && !extent->apart &&
           pred_may_claim_ahead(region, UCS_RCACHE_PRED_EXTENT_REGISTERED);
}

/* Whether to merge an extent with the extents in a range, which the former overlaps or
 * touches. An extent that only touches the range is left out in two cases: if it cannot
 * be merged, since it would keep the others from being merged as well; and if it stays in
 * use for long, since until then all of its memory would be pinned twice, and not just
 * one page. Under lock. */
static int belongs(const ucs_rcache_pred_t *pred,
                   const ucs_rcache_pred_region_t *kept,
                   const ucs_rcache_pred_extent_t *extent,
                   const ucs_rcache_pred_range_t *range)
{
    return ucs_rcache_pred_range_overlaps(&extent->range, range) ||
           (can_merge(extent) &&
            !pred_region_is_occupied(ucs_rcache_pred_region_of(extent),
                                     kept->forecast.period, pred->rounds.last));
}

/* Find the extents that overlap or touch a region, those that overlap or touch one of
 * these, and so on. @return how many bytes less would be pinned after a merge of all; 0
 * if they cannot be merged: one of them is just being registered, or was merged in vain,
 * or all are too much for a bound. Under lock. */
static uint64_t find_overlap(const ucs_rcache_pred_t *pred,
                             const ucs_rcache_pred_region_t *region,
                             overlap_t *overlap)
{
    ucs_rcache_pred_extent_t *other = NULL;
    unsigned left                   = 3 * MAX_LOOKS;

    *overlap = (overlap_t){.range = region->extent.range};
    while ((left-- > 0) &&
           ((other = pred_next_touching(region->extent.domain, other,
                                        &overlap->range)) != NULL)) {
        if (!belongs(pred, region, other, &overlap->range)) {
            continue;
        }

        if (!can_merge(other)) {
            return 0;
        }

        if (other->range.start < overlap->range.start) {
            /* More extents may overlap or touch this one: search again from its start */
            *overlap = (overlap_t){
                .range = ucs_rcache_pred_range_hull(&overlap->range, &other->range)
            };
            other    = NULL;
            continue;
        }

        overlap->range  = ucs_rcache_pred_range_hull(&overlap->range,
                                                     &other->range);
        overlap->bytes += pred_page_bytes(pred, &other->range);
        overlap->count += (other != &region->extent);
    }

    return pred_range_never_fits(pred, &overlap->range) ?
                   0 : pred_elapsed(pred_page_bytes(pred, &overlap->range),
                                    overlap->bytes);
}

/* How long it takes to deregister a region and all that are to be merged with it, and to
 * register them together. Under lock. */
static ucs_rcache_pred_time_t
merge_time(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
           const overlap_t *overlap)
{
    ucs_rcache_pred_times_t together, each;

    pred_range_times(pred, region, &overlap->range, &together);
    pred_region_times(pred, region, &each);
    return together.reg + ((overlap->count + 1) * each.dereg);
}

/* A region was registered by a merge, with all of a range: let its extent stand for the
 * merged slices, unless it was unmapped since, or stands for joined slices. Under
 * lock. */
static void note_merged(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region,
                        const ucs_rcache_pred_range_t *range)
{
    ucs_rcache_pred_extent_t *extent = &region->extent;

    if ((region->num_joined == 0) && !extent->stale &&
        (extent->state == UCS_RCACHE_PRED_EXTENT_REGISTERED) &&
        ucs_rcache_pred_range_has(&extent->range, range)) {
        ucs_rcache_pred_extent_join(&pred->table, extent, range);
    }
}

/* Find out whether to merge a region with others, and pay for that. Under lock.
 * @param [out] overlap  The region with all others, if the caller merges them. */
static int should_merge(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                        overlap_t *overlap)
{
    pred_rounds_t *rounds = &pred->rounds;
    uint64_t bytes;

    if ((rounds->last < rounds->merge_after) || !may_merge(region)) {
        return 0;
    }

    rounds->merge_after = rounds->last + LOOK_EVERY;
    bytes               = find_overlap(pred, region, overlap);
    if (overlap->count == 0) {
        /* There is nothing to merge the region with: clear its note, so that it does not
         * take every look from other regions. An extent that comes to touch the region
         * later notes that anew, and a neighbour that is in use now has a note of its
         * own */
        region->extent.touches = 0;
    }
    return (bytes > 0) &&
           pred_spend_on_merge(pred, bytes, merge_time(pred, region, overlap));
}

void pred_merge_kept(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region)
{
    pred_handle_t old;
    overlap_t overlap;
    ucs_status_t status;

    pred_lock(pred);
    if (!should_merge(pred, region, &overlap)) {
        pred_unlock(pred);
        return;
    }

    old = pred_take_handle(pred, &region->extent);
    pred_claim_ahead(pred, region, &overlap.range);
    pred_unlock(pred);

    pred_handle_deregister(pred, &old);
    status = pred_register_claimed_ahead(pred, region);
    pred_lock(pred);
    region->extent.ahead = 0; /* It was not registered for a predicted use */
    region->extent.apart = (status != UCS_OK);
    note_merged(pred, region, &overlap.range);
    pred_unlock(pred);
    ucs_debug("%s: %p and %u that overlap it are merged: %s",
              region->extent.domain->name, (void*)region->start, overlap.count,
              ucs_status_string(status));
}

void pred_merge_given_up(ucs_rcache_pred_t *pred,
                         ucs_rcache_pred_extent_t *extent,
                         ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_times_t times;

    if (!ucs_rcache_pred_range_has(&extent->range, &extent->joined)) {
        /* A use has registered only its own part: let it stand for no slices any more */
        extent->joined.start = extent->joined.end = 0;
        return;
    }

    pred_range_times(pred, ucs_rcache_pred_region_of(extent), &extent->joined, &times);
    extent->merged_until = now + pred_spend_least_idle(
            pred, pred_page_bytes(pred, &extent->joined), &times);
}
