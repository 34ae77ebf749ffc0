/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "decide.h"
#include "helper.h"
#include "spend.h"

#include <ucs/base/align.h>
#include <ucs/rcache_pred/cache/bound.h>
#include <ucs/rcache_pred/cache/use.h>
#include <ucs/rcache_pred/table/known.h>
#include <ucs/rcache_pred/table/victim.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

/*
 * Which slices are joined:
 *
 *   |  left  ||region||   right   |  far  |     between region and right there is
 *   +--------++------++-----------+       +     no page: they touch
 *     <- - - - - - - - - - - - - ->
 *
 * Starting from one region, the regions on its right and then those on its left are
 * added, as long as the next region is idle and the joint registration of all is a gain,
 * which is_gain() decides. Since there is no page between neighbours,
 * the joint registration pins no page that the single ones would not pin.
 */


/* The most slices that are joined at a time. Joined slices can be joined with others
 * later */
#define MAX_SLICES 64

/* The most regions that a search for the neighbour of slices looks at */
#define MAX_LOOKS 16

/* All slices together take at most this part of a bound, 1/16. While one of them is in
 * use all are pinned, and their room cannot be given to others */
#define BOUND_SHARE 16

/* Joining slices costs no memory if the helper would take this many times the length of
 * their burst, or more, to register them one by one. One by one, a slice is registered
 * before its use, on average, for half of that time less half of the burst; joined slices
 * are registered for the whole burst, and while the helper registers all of them. */
#define JOIN_FREE     3

/* Slices are parts of a buffer that are used one after the other, in a burst. Where joining
 * them costs memory, since the burst is too long for JOIN_FREE, the slices are joined only
 * if the time until their next uses is this many times the length of the burst, or more:
 * then a wrong decision costs little */
#define JOIN_PAUSE    8

/* Slices that may become one region, and the sums over all of these slices */
typedef struct {
    ucs_rcache_pred_region_t *regions[MAX_SLICES];
    ucs_rcache_pred_range_t  ranges[MAX_SLICES]; /* For each slice, the range that
                                                 is expected to be used */
    unsigned                 count;           /* Number of slices */
    ucs_rcache_pred_region_t *leader;         /* The slice that is expected to be
                                                 used first. The burst has its
                                                 forecast at first */
    ucs_rcache_pred_range_t  range;           /* From the first to the last byte of
                                                 all ranges */
    ucs_rcache_pred_time_t   begins[2];       /* The first and the last begin of
                                                 the last uses of the slices */
    ucs_rcache_pred_time_t   expected[2];     /* The first and the last expected
                                                 begin of their next uses. Each is
                                                 somewhat too early: only the
                                                 time between them counts */
    ucs_rcache_pred_time_t   deadline;        /* The earliest deadline */
    ucs_rcache_pred_time_t   apart_time;      /* How long it would take to register
                                                 and deregister the slices one by
                                                 one, ns */
    unsigned                 num_joined;      /* Number of slices, where each slice
                                                 counts that was joined before */
    unsigned                 num_kept;        /* How many of the slices are kept
                                                 for lack of budget */
} slices_t;


/* Whether a region that is not busy could be joined with others: its next use is
 * predicted, and the last two predictions or more were right. A wrong prediction for one
 * slice would be wrong for all of them. Under lock. */
static int is_ready(const ucs_rcache_pred_region_t *region,
                    ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_time_t deadline = ucs_rcache_pred_region_deadline(region);

    return region->forecast.predicted &&
           (region->forecast.trust >= 2 * UCS_RCACHE_PRED_TRUST_MET) &&
           (deadline != UCS_RCACHE_PRED_TIME_INF) && (deadline > now) &&
           /* join_after is never later than the next use, unless the clock went back:
            * then ignore it */
           ((region->join_after <= now) || (region->join_after > deadline));
}

/* Whether the second of two ranges begins and ends behind the first one, and no page lies
 * between them */
static int touches(const ucs_rcache_pred_range_t *first,
                   const ucs_rcache_pred_range_t *second, size_t page)
{
    return (second->start > first->start) && (second->end > first->end) &&
           (ucs_round_down(second->start, page) <=
            ucs_round_down(first->end - 1, page) + page);
}

/* Find a region that touches slices on one side, and is busy or could be joined with
 * them. Under lock. NULL: there is none.
 *
 * @param [in]  first  One of the slices.
 * @param [in]  all    The range of all slices.
 * @param [out] range  The range of the found region that is expected to be used: it
 *                     touches the range of all slices. */
static ucs_rcache_pred_region_t *
find_next(const ucs_rcache_pred_t *pred, const ucs_rcache_pred_region_t *first,
          const ucs_rcache_pred_range_t *all, int is_right,
          ucs_rcache_pred_time_t now, ucs_rcache_pred_range_t *range)
{
    size_t page                      = pred->params.page_size;
    ucs_rcache_pred_extent_t *extent = NULL;
    unsigned left                    = MAX_LOOKS;
    ucs_rcache_pred_region_t *region;
    ucs_rcache_pred_range_t edge;

    if (is_right) {
        edge.start = all->end - 1;
        edge.end   = ucs_round_down(edge.start, page) + (2 * page);
    } else {
        edge.end   = all->start + 1;
        edge.start = ucs_round_down(all->start, page) - page;
    }

    while ((left-- > 0) &&
           ((extent = ucs_rcache_pred_table_overlap(
                    &pred->table, extent, &edge,
                    UCS_RCACHE_PRED_RANGE_KNOWN)) != NULL)) {
        region = ucs_rcache_pred_region_of(extent);
        *range = ucs_rcache_pred_region_expected(region);
        if ((extent->domain == first->extent.domain) && !extent->stale &&
            !extent->apart &&
            (region->recent_access == first->recent_access) &&
            (pred_region_is_busy(region) || is_ready(region, now)) &&
            (is_right ? touches(all, range, page) :
                        touches(range, all, page))) {
            return region;
        }
    }

    return NULL;
}

static void widen(ucs_rcache_pred_time_t *limits, ucs_rcache_pred_time_t time)
{
    limits[0] = ucs_min(limits[0], time);
    limits[1] = ucs_max(limits[1], time);
}

/* Add a region to slices, which may have none yet. Without the lock.
 * @param [in] range  The range of the region that is expected to be used. */
static void slices_add(ucs_rcache_pred_t *pred, slices_t *slices,
                       ucs_rcache_pred_region_t *region,
                       const ucs_rcache_pred_range_t *range)
{
    ucs_rcache_pred_time_t begin = region->forecast.history.last;
    ucs_rcache_pred_time_t next  = region->forecast.earliest;
    unsigned count               = ucs_max(region->num_joined, 1u);
    ucs_rcache_pred_range_t one  =
            ucs_rcache_pred_range(range->start,
                                  ucs_rcache_pred_range_length(range) / count);
    ucs_rcache_pred_time_t deadline;
    ucs_rcache_pred_times_t times;

    pred_lock(pred);
    pred_range_times(pred, region, &one, &times);
    deadline = ucs_rcache_pred_region_deadline(region);
    pred_unlock(pred);

    if (slices->count == 0) {
        slices->leader      = region;
        slices->range       = *range;
        slices->begins[0]   = slices->begins[1]   = begin;
        slices->expected[0] = slices->expected[1] = next;
        slices->deadline    = deadline;
    } else if (next < slices->expected[0]) {
        slices->leader = region;
    }

    slices->range       = ucs_rcache_pred_range_hull(&slices->range, range);
    slices->apart_time += count * (times.reg + times.dereg);
    slices->num_joined += count;
    slices->num_kept   += (region->kept != 0);
    slices->deadline    = ucs_min(slices->deadline, deadline);
    widen(slices->begins, begin);
    widen(slices->begins, begin + region->span);
    widen(slices->expected, next);
    widen(slices->expected, next + region->span);
    slices->ranges[slices->count]    = *range;
    slices->regions[slices->count++] = region;
}

/* @return the time from the first to the last begin of the uses in a burst: that of the
 * last uses, or that of the expected ones, whichever is longer */
static ucs_rcache_pred_time_t slices_span(const slices_t *slices)
{
    return ucs_max(slices->begins[1] - slices->begins[0],
                   slices->expected[1] - slices->expected[0]);
}

/* Whether it is a gain to register these slices together. Joined slices are all registered
 * while the burst lasts. If the helper registers slices one by one, it has to begin early,
 * and a slice is registered before its use for half of the time, on average, that the helper
 * takes for all slices. So joining saves memory if the burst is clearly shorter than that
 * time. If the burst is longer, joining costs memory and saves time. Then the saved time has
 * to be worth the memory, at the present worth of memory in the budget; and the burst has to
 * be short beside the pause after it, so that a wrong decision costs little. */
static int is_gain(ucs_rcache_pred_t *pred, const slices_t *slices,
                   ucs_rcache_pred_time_t now)
{
    double bytes                = pred_page_bytes(pred, &slices->range);
    ucs_rcache_pred_time_t span = slices_span(slices);
    ucs_rcache_pred_time_t saved, spacing;
    ucs_rcache_pred_times_t times;
    int takes_much;
    double worth;

    pred_lock(pred);
    pred_range_times(pred, slices->leader, &slices->range, &times);
    takes_much = pred_ranges_never_fit(pred, &slices->range, BOUND_SHARE);
    pred_unlock(pred);

    saved   = pred_elapsed(times.reg + times.dereg, slices->apart_time);
    spacing = slices->apart_time +
              (slices->num_joined * (times.dq_item + times.rq_item));
    /* If at least half of the slices are kept, since there was no budget to give them up
     * one by one, time is scarce, and a joint registration may cost memory. One slice
     * does not count: the one that is just being decided about */
    worth   = (2 * slices->num_kept >= slices->count - 1) ? pred_spend_worth(pred) : 0;
    return !takes_much && (saved > 0) &&
           ucs_rcache_pred_may_deregister(&times, now, slices->deadline) &&
           ((JOIN_FREE * span <= spacing) ||
            ((JOIN_PAUSE * span <= slices->deadline - now) &&
             (bytes * span <= saved * worth)));
}

/*
 * Add slices on one side as long as it is a gain.
 *
 * @return whether to join the slices now; 0: the next region is busy, and the caller
 *         waits. The decision about that region, once it is idle, will join all of them.
 */
static int slices_grow(ucs_rcache_pred_t *pred, slices_t *slices, int is_right,
                       ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_region_t *region;
    ucs_rcache_pred_range_t range;
    slices_t before;
    int ready;

    while (slices->count < MAX_SLICES) {
        pred_lock(pred);
        region = find_next(pred, slices->regions[0], &slices->range, is_right,
                           now, &range);
        if ((region != NULL) &&
            pred_region_is_occupied(region, slices->leader->forecast.period,
                                    now)) {
            region = NULL; /* It belongs to no burst of theirs */
        }
        ready  = (region == NULL) || !pred_region_is_busy(region);
        pred_unlock(pred);
        if (region == NULL) {
            break;
        }

        if (!ready) {
            return 0;
        }

        before = *slices;
        slices_add(pred, slices, region, &range);
        if (!is_gain(pred, slices, now)) {
            *slices = before;
            break;
        }
    }

    return 1;
}

/* Do not try to join these slices again before their next use: the answer would be the
 * same */
static void slices_put_off(const slices_t *slices)
{
    unsigned i;

    for (i = 0; i < slices->count; ++i) {
        slices->regions[i]->join_after = slices->deadline;
    }
}

/* Whether all slices have the same ranges as when they were found, and so still touch
 * each other: memory may be unmapped at any time. Under lock. */
static int is_unchanged(const slices_t *slices)
{
    ucs_rcache_pred_range_t range;
    unsigned i;

    for (i = 0; i < slices->count; ++i) {
        range = ucs_rcache_pred_region_expected(slices->regions[i]);
        if (slices->regions[i]->extent.stale ||
            (range.start != slices->ranges[i].start) ||
            (range.end != slices->ranges[i].end)) {
            return 0;
        }
    }

    return 1;
}

/* Let the budget pay for giving up all slices together now, if it allows to, and take back
 * what was paid for giving them up one by one. Under lock. */
static int slices_spend(ucs_rcache_pred_t *pred, const slices_t *slices,
                        ucs_rcache_pred_region_t *burst,
                        const ucs_rcache_pred_times_t *times,
                        ucs_rcache_pred_time_t now)
{
    unsigned i;

    if (!pred_spend_on_bytes(pred, burst, pred_page_bytes(pred, &slices->range),
                             times, now, slices->deadline)) {
        slices_put_off(slices);
        return 0;
    }

    for (i = 0; i < slices->count; ++i) {
        pred_refund_on_use(pred, slices->regions[i]);
    }
    return 1;
}

/* Let a new region stand for all slices. Under lock. */
static void burst_init(ucs_rcache_pred_t *pred, const slices_t *slices,
                       ucs_rcache_pred_region_t *burst)
{
    const ucs_rcache_pred_region_t *leader = slices->leader;

    burst->others        = ucs_rcache_pred_range_length(&slices->range) -
                           ucs_rcache_pred_range_length(&burst->extent.range) +
                           leader->others;
    burst->span          = slices_span(slices);
    burst->num_joined    = slices->num_joined;
    burst->recent_access = leader->recent_access;
    burst->extent.flags  = leader->extent.flags;
    /* The uses of the region are bursts, whose signatures are new. Until bursts were seen,
     * they are predicted by the history of all uses of the leader, whatever their
     * contexts */
    ucs_rcache_pred_forecast_inherit(&burst->forecast, &leader->forecast);
    ucs_rcache_pred_region_add_recent(burst, &slices->range, leader->recent_access,
                                      0);
    ucs_rcache_pred_extent_join(&pred->table, &burst->extent, &slices->range);
    ucs_rcache_pred_region_set_deadline(burst, slices->deadline);
}

/* Let the region of a burst stand for a slice. If the slice is a burst itself, clear its
 * region away. Under lock. */
static void slice_leave(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *slice)
{
    pred_dequeue(pred, slice);
    ucs_rcache_pred_region_set_deadline(slice, UCS_RCACHE_PRED_TIME_INF);
    ucs_rcache_pred_region_note(&pred->table.noted, slice);
    if (slice->num_joined > 0) {
        pred_make_stale(pred, &slice->extent);
        pred_note_stale(pred);
    } else {
        slice->extent.joined = (ucs_rcache_pred_range_t){0, 0};
    }
}

/* Join slices, unless they have changed, or there is no budget to give all of them up, or
 * no memory. Under lock, which may be released for a while.
 * @return the region of the burst of all slices; NULL: nothing was done. */
static ucs_rcache_pred_region_t *
slices_join(ucs_rcache_pred_t *pred, const slices_t *slices,
            const ucs_rcache_pred_times_t *times, ucs_rcache_pred_time_t now)
{
    const ucs_rcache_pred_region_t *leader = slices->leader;
    ucs_rcache_pred_range_t first          = ucs_rcache_pred_region_expected(leader);
    ucs_rcache_pred_region_t *burst;
    unsigned i;

    burst = pred_new_region(leader->extent.domain, &first);
    if (burst == NULL) {
        return NULL;
    }

    if (!is_unchanged(slices) ||
        !slices_spend(pred, slices, burst, times, now)) {
        ucs_rcache_pred_region_free(&pred->table, burst);
        return NULL;
    }

    burst_init(pred, slices, burst);
    for (i = 0; i < slices->count; ++i) {
        slice_leave(pred, slices->regions[i]);
    }
    pred_enqueue_registration(pred, burst, slices->deadline, times);
    return burst;
}

int pred_may_join(const ucs_rcache_pred_t *pred,
                  const ucs_rcache_pred_region_t *region,
                  ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_range_t range = ucs_rcache_pred_region_expected(region);
    ucs_rcache_pred_range_t other;

    return !region->extent.stale && !region->extent.apart &&
           !pred_region_is_busy(region) && is_ready(region, now) &&
           ((find_next(pred, region, &range, 1, now, &other) != NULL) ||
            (find_next(pred, region, &range, 0, now, &other) != NULL));
}

int pred_join_slices(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                     ucs_rcache_pred_time_t now)
{
    slices_t slices = {.count = 0};
    ucs_rcache_pred_region_t *burst;
    ucs_rcache_pred_range_t range;
    ucs_rcache_pred_times_t times;
    unsigned i;

    pred_lock(pred);
    range = ucs_rcache_pred_region_expected(region);
    pred_unlock(pred);

    slices_add(pred, &slices, region, &range);
    if (!slices_grow(pred, &slices, 1, now) ||
        !slices_grow(pred, &slices, 0, now) || (slices.count < 2)) {
        return 0;
    }

    if (pred_burst_trust(slices.regions, slices.ranges, slices.count) <
        UCS_RCACHE_PRED_TRUST_TOGETHER) {
        slices_put_off(&slices);
        return 0;
    }

    pred_lock(pred);
    pred_range_times(pred, region, &slices.range, &times);
    burst = slices_join(pred, &slices, &times, now);
    pred_unlock(pred);
    if (burst == NULL) {
        return 0;
    }

    ucs_debug("%s: %u slices are joined: %zu bytes at %p, used within %.3f ms",
              region->extent.domain->name, slices.count,
              ucs_rcache_pred_range_length(&slices.range),
              (void*)slices.range.start, slices_span(&slices) / 1e6);
    pred_expect_end(pred, now, burst->forecast.period);
    for (i = 0; i < slices.count; ++i) {
        ucs_rcache_pred_forecast_forget(&pred->predictor,
                                        &slices.regions[i]->forecast);
        pred_region_deregister(pred, slices.regions[i]);
    }
    return 1;
}
