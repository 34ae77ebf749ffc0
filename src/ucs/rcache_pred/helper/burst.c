/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "decide.h"

#include <ucs/rcache_pred/table/known.h>

#include <ucs/sys/math.h>

/*
 * Bursts of slices that were joined: the helper finds out where a burst of their uses
 * begins and ends, and judges each burst.
 */


/* A burst ends at the latest after this many times the time that it took when the slices
 * were joined */
#define BURST_GRACE 2

/* Slices are judged by their last MISSING_USES bursts. So many are more than it takes to
 * part slices, since some programs use parts of a buffer in turns with all of the buffer,
 * as a multigrid solver does with its coarse grids. region->missing has MISSING_BITS bits
 * for each burst, with the last one in the lowest bits. The bits say how many thirds of
 * the expected bytes were left out; MISSING_ALL is all three thirds */
#define MISSING_USES 16
#define MISSING_BITS 2
#define MISSING_ALL  ((1u << MISSING_BITS) - 1)


/* @return the time until which uses of a region belong to the present burst. That is
 * longer than the burst took when the slices were joined, since a use may have to wait
 * for a registration or a message. */
static ucs_rcache_pred_time_t burst_limit(const ucs_rcache_pred_region_t *region)
{
    return region->burst + (BURST_GRACE * region->span) + 1;
}

int pred_burst_has(ucs_rcache_pred_region_t *region, ucs_rcache_pred_time_t begin)
{
    if ((region->burst != 0) && (begin >= region->burst) &&
        (begin < burst_limit(region))) {
        return 1;
    }

    region->burst = begin;
    return 0;
}

void pred_burst_note(ucs_rcache_pred_region_t *region, size_t used,
                     size_t expected)
{
    if (expected > 0) {
        /* To the nearest third. A burst of exactly half has left out one third, and not
         * two: it is not one of less than half */
        region->missing = (region->missing << MISSING_BITS) |
                          (((2 * MISSING_ALL * pred_elapsed(used, expected)) +
                            expected - 1) / (2 * expected));
    }
}

ucs_rcache_pred_trust_t
pred_burst_trust(ucs_rcache_pred_region_t *const *regions,
                 const ucs_rcache_pred_range_t *expected, unsigned count)
{
    ucs_rcache_pred_trust_t trust = UCS_RCACHE_PRED_TRUST_TOGETHER;
    size_t length, all, missing;
    unsigned use, i;

    UCS_STATIC_ASSERT(MISSING_USES * MISSING_BITS ==
                      8 * sizeof(regions[0]->missing));
    for (use = MISSING_USES; use-- > 0;) {
        all = missing = 0;
        for (i = 0; i < count; ++i) {
            length   = ucs_rcache_pred_range_length(&expected[i]);
            all     += length;
            missing += length * ((regions[i]->missing >>
                                  (use * MISSING_BITS)) & MISSING_ALL);
        }
        ucs_rcache_pred_trust_tell(&trust, UCS_RCACHE_PRED_TRUST_SLICES,
                                   2 * missing <= MISSING_ALL * all);
    }

    return trust;
}

ucs_rcache_pred_time_t pred_burst_end(ucs_rcache_pred_region_t *region,
                                      ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_extent_t *extent = &region->extent;
    size_t used;
    int is_whole;

    if (region->burst == 0) {
        return 0;
    }

    is_whole = (extent->state == UCS_RCACHE_PRED_EXTENT_REGISTERED) &&
               ucs_rcache_pred_range_has(&extent->range, &extent->joined);
    /* A use of all slices at once begins where the region starts: extent->sliced does not
     * count it */
    used     = ucs_rcache_pred_range_has(&region->used, &extent->joined) ?
               region->others : extent->sliced;
    if (is_whole && (used < region->others) && (now >= region->burst) &&
        (now < burst_limit(region))) {
        return burst_limit(region);
    }

    extent->sliced = 0;
    region->burst  = 0;
    if (is_whole) {
        /* Judge by the slices other than the one where the region starts, since
         * extent->sliced does not count uses that begin there */
        pred_burst_note(region, used, region->others);
    }
    return 0;
}
