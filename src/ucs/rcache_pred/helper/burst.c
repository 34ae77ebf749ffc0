/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "decide.h"

#include <ucs/rcache_pred/table/known.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <string.h>

/*
 * What becomes of slices once they were joined: the helper finds out where a burst of
 * their uses begins and ends, judges each burst, and parts slices that are not used in
 * bursts any more.
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

/* How many regions are marked at most when slices are parted, so that the lock is not
 * held for long: twice as many as are joined at a time */
#define MAX_PARTED 128


/* @return the time until which uses of a region belong to the present burst. That is
 * longer than the burst took when the slices were joined, since a use may have to wait
 * for a registration or a message. */
static ucs_rcache_pred_time_t burst_limit(const ucs_rcache_pred_region_t *region)
{
    return region->burst + (BURST_GRACE * region->span) + 1;
}

/* Let no slice of a domain that overlaps a range be joined again. Under lock. */
static void part_all(const ucs_rcache_pred_domain_t *domain,
                     const ucs_rcache_pred_range_t *range)
{
    ucs_rcache_pred_extent_t *extent = NULL;
    unsigned left                    = MAX_PARTED;

    while ((left-- > 0) &&
           ((extent = ucs_rcache_pred_table_overlap(
                    &domain->pred->table, extent, range,
                    UCS_RCACHE_PRED_RANGE_KNOWN)) != NULL)) {
        extent->apart |= (extent->domain == domain);
    }
}

/* Forget what was learned of the uses of all slices */
static void slices_forget(ucs_rcache_pred_t *pred,
                          ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_forecast_t *forecast = &region->forecast;
    ucs_rcache_pred_extent_t *extent     = &region->extent;
    ucs_rcache_pred_time_t last          = forecast->history.last;

    region->num_joined = 0;
    region->span       = 0;
    region->burst      = 0;
    region->missing    = 0;
    memset(region->recent, 0, sizeof(region->recent));
    ucs_rcache_pred_forecast_forget(&pred->predictor, forecast);
    ucs_rcache_pred_forecast_init(forecast);
    forecast->history.last = last;

    pred_lock(pred);
    if ((extent->state == UCS_RCACHE_PRED_EXTENT_IDLE) && !extent->stale &&
        ucs_rcache_pred_range_has(&extent->known, &region->own)) {
        extent->range = region->own;
    }
    pred_unlock(pred);
}

/* Whether a region still stands for slices. An unmap or a failed registration may have
 * cleared the range of its joined slices under the lock: then forget here, under
 * helper_mutex, what the helper has learned of their bursts. */
static int is_joined(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region)
{
    int joined;

    if (region->num_joined == 0) {
        return 0;
    }

    pred_lock(pred);
    joined = (region->extent.joined.end != 0);
    if (!joined && region->extent.apart) {
        part_all(region->extent.domain, &region->extent.known);
    }
    pred_unlock(pred);
    if (!joined) {
        slices_forget(pred, region);
    }
    return joined;
}

int pred_burst_has(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                   ucs_rcache_pred_time_t begin, ucs_rcache_pred_range_t *range)
{
    if (!is_joined(pred, region)) {
        return 0;
    }

    if ((region->burst != 0) && (begin >= region->burst) &&
        (begin < burst_limit(region))) {
        return 1;
    }

    region->burst = begin;
    pred_lock(pred);
    if (region->extent.joined.end != 0) { /* Still, since an unmap may come any time */
        *range = region->extent.joined;
    }
    pred_unlock(pred);
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

ucs_rcache_pred_time_t pred_burst_end(ucs_rcache_pred_t *pred,
                                      ucs_rcache_pred_region_t *region,
                                      ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_extent_t *extent = &region->extent;
    size_t others, used;
    int is_whole;

    if (!is_joined(pred, region) || (region->burst == 0)) {
        return 0;
    }

    pred_lock(pred);
    is_whole = (extent->joined.end != 0) &&
               (extent->state == UCS_RCACHE_PRED_EXTENT_REGISTERED) &&
               ucs_rcache_pred_range_has(&extent->range, &extent->joined);
    others   = pred_elapsed(ucs_rcache_pred_range_length(&region->own),
                            ucs_rcache_pred_range_length(&extent->joined));
    /* A use of all slices at once begins where the region starts: extent->sliced does not
     * count it */
    used     = ucs_rcache_pred_range_has(&region->used, &extent->joined) ?
               others : extent->sliced;
    if (is_whole && (used < others) && (now >= region->burst) &&
        (now < burst_limit(region))) {
        pred_unlock(pred);
        return burst_limit(region);
    }

    extent->sliced = 0;
    pred_unlock(pred);

    region->burst = 0;
    if (is_whole) {
        /* Judge by the slices other than the one where the region starts, since
         * extent->sliced does not count uses that begin there */
        pred_burst_note(region, used, others);
    }
    return 0;
}

void pred_part_slices(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region)
{
    if (region->num_joined == 0) {
        return;
    }

    ucs_debug("%s: the slices at %p are parted", region->extent.domain->name,
              (void*)region->start);
    pred_lock(pred);
    part_all(region->extent.domain, &region->extent.joined);
    ucs_rcache_pred_extent_part(&region->extent);
    region->extent.apart = 1;
    pred_unlock(pred);
    slices_forget(pred, region);
}
