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
 * Starting from one region, those on its right and then those on its left are
 * added, as long as the region next to them is idle and the joint registration
 * of all is a gain, which is for ucs_rcache_pred_may_join() to say. Since the
 * pages of all of them have no gap, together they pin no page that they would
 * not pin by themselves.
 */


/* So many slices are joined at a time. What was joined can be joined again */
#define MAX_SLICES 64

/* So many regions that may know memory next to a slice are looked at */
#define MAX_LOOKS 16

/* Slices take this part of a bound at most together. While one of them is in use
 * all are pinned, and others cannot have that room */
#define BOUND_SHARE 16

/* A slice is joined only with so good a record of deadlines that were met: what is
 * predicted wrong for one would be so for all */
#define JOIN_RECORD 2

/* Slices that may become one region, and the sums over all of these slices */
typedef struct {
    ucs_rcache_pred_region_t *regions[MAX_SLICES];
    ucs_rcache_pred_range_t  ranges[MAX_SLICES]; /* What is expected of each */
    unsigned                 count;
    ucs_rcache_pred_region_t *leader;         /* The one that is used first */
    ucs_rcache_pred_range_t  range;           /* All of them */
    ucs_rcache_pred_time_t   begins[2];       /* The first and the last begin of
                                                 their last uses */
    ucs_rcache_pred_time_t   expected[2];     /* Likewise, of their next ones.
                                                 All are somewhat too early: how
                                                 far they are apart counts */
    ucs_rcache_pred_time_t   deadline;        /* The first one */
    ucs_rcache_pred_time_t   apart_time;      /* What their registrations and
                                                 deregistrations take one by
                                                 one */
    unsigned                 num_joined;      /* How many they are if those that
                                                 were joined before are counted
                                                 one by one */
    unsigned                 num_kept;        /* How many there was no budget to
                                                 give up for */
} slices_t;


/* Whether a region that is not busy could be joined with others: its next use is
 * predicted, as some before were. Under lock. */
static int is_ready(const ucs_rcache_pred_region_t *region,
                    ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_time_t deadline = ucs_rcache_pred_region_deadline(region);

    return region->forecast.predicted &&
           (region->forecast.record >= JOIN_RECORD) &&
           (deadline != UCS_RCACHE_PRED_TIME_INF) && (deadline > now) &&
           /* It is no time of its next use, unless the clock went back */
           ((region->join_after <= now) || (region->join_after > deadline));
}

/* Whether no page lies between two ranges, one of which ends behind the other
 * one and begins behind it as well */
static int touches(const ucs_rcache_pred_range_t *first,
                   const ucs_rcache_pred_range_t *second, size_t page)
{
    return (second->start > first->start) && (second->end > first->end) &&
           (ucs_round_down(second->start, page) <=
            ucs_round_down(first->end - 1, page) + page);
}

/* Find a region that is busy, or could be joined, and touches slices on one
 * side. Under lock. NULL: there is none.
 *
 * @param [in]  first  One of them.
 * @param [in]  all    What is expected of all of them.
 * @param [out] range  What is expected of the one that is found, which is what touches
 *                     them. */
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

/* Add a region, of which a range is expected, to slices, the first of which it may be.
 * Without the lock. */
static void slices_add(ucs_rcache_pred_t *pred, slices_t *slices,
                       ucs_rcache_pred_region_t *region,
                       const ucs_rcache_pred_range_t *range)
{
    ucs_rcache_pred_time_t begin = region->forecast.history.last;
    ucs_rcache_pred_time_t next  = region->forecast.earliest;
    ucs_rcache_pred_time_t deadline;
    ucs_rcache_pred_times_t times;

    pred_lock(pred);
    pred_range_times(pred, region->extent.domain, range, &times);
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
    slices->apart_time += (region->num_joined > 0) ? region->apart_time :
                                                     (times.reg + times.dereg);
    slices->num_joined += ucs_max(region->num_joined, 1u);
    slices->num_kept   += (region->kept != 0);
    slices->deadline    = ucs_min(slices->deadline, deadline);
    widen(slices->begins, begin);
    widen(slices->begins, begin + region->span);
    widen(slices->expected, next);
    widen(slices->expected, next + region->span);
    slices->ranges[slices->count]    = *range;
    slices->regions[slices->count++] = region;
}

/* From the first to the last use of the slices: as it was the last time, or as
 * it is expected to be, whichever is longer */
static ucs_rcache_pred_time_t slices_span(const slices_t *slices)
{
    return ucs_max(slices->begins[1] - slices->begins[0],
                   slices->expected[1] - slices->expected[0]);
}

/* Whether it is a gain to register these slices together */
static int is_gain(ucs_rcache_pred_t *pred, const slices_t *slices,
                   ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_joint_t joint = {
        .bytes   = pred_page_bytes(pred, &slices->range),
        .span    = slices_span(slices),
        .idle    = slices->deadline - now
    };
    ucs_rcache_pred_times_t times;
    int takes_much;
    double worth;

    pred_lock(pred);
    pred_range_times(pred, slices->leader->extent.domain, &slices->range, &times);
    takes_much = pred_ranges_never_fit(pred, &slices->range, BOUND_SHARE);
    pred_unlock(pred);

    joint.saved   = pred_elapsed(times.reg + times.dereg, slices->apart_time);
    joint.spacing = slices->apart_time +
                    (slices->num_joined * (times.dq_item + times.rq_item));
    /* Time is scarce where it was too dear to give each of them up. The last
     * one to be used was not decided yet */
    worth         = (2 * slices->num_kept >= slices->count - 1) ?
                    pred_spend_worth(pred) : 0;
    return !takes_much &&
           ucs_rcache_pred_may_deregister(&times, now, slices->deadline) &&
           ucs_rcache_pred_may_join(&joint, worth);
}

/*
 * Add slices on one side as long as it is a gain.
 *
 * @return whether to join them. It is too early if the next one is just being
 *         used, or was: once it is decided, those that are idle by then will be
 *         joined at once.
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

/* Let nobody try again to join these slices before they are used the next time: until
 * then, the answer would be the same */
static void slices_put_off(const slices_t *slices)
{
    unsigned i;

    for (i = 0; i < slices->count; ++i) {
        slices->regions[i]->join_after = slices->deadline;
    }
}

/* Decide whether to give up all slices together now. If so, that is paid for,
 * and what was paid for each of them is not due any more. */
static int slices_spend(ucs_rcache_pred_t *pred, const slices_t *slices,
                        const ucs_rcache_pred_times_t *times,
                        ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_region_t *leader = slices->leader;
    ucs_rcache_pred_time_t alone     = leader->prepaid;
    uint8_t set_aside                = leader->set_aside;
    ucs_rcache_pred_time_t together;
    unsigned i;

    if (!pred_spend_on_bytes(pred, leader, pred_page_bytes(pred, &slices->range),
                             times, now, slices->deadline)) {
        leader->prepaid   = alone;
        leader->set_aside = set_aside;
        slices_put_off(slices);
        return 0;
    }

    together          = leader->prepaid;
    leader->prepaid   = alone;
    leader->set_aside = set_aside;
    for (i = 0; i < slices->count; ++i) {
        pred_refund_on_use(pred, slices->regions[i]);
    }
    leader->prepaid   = together;
    leader->set_aside = 0; /* Their next use is predicted */
    return 1;
}

/* Whether all slices are still what they were when they were found, so that they touch
 * each other as then: memory may be unmapped at any time. Under lock. */
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

/* Let the leader stand for all slices. @return whether it does. */
static int slices_join(ucs_rcache_pred_t *pred, const slices_t *slices)
{
    ucs_rcache_pred_region_t *leader = slices->leader;
    unsigned access                  = leader->recent_access;
    unsigned i;

    pred_lock(pred);
    if (!is_unchanged(slices)) {
        pred_unlock(pred);
        return 0;
    }

    if (leader->num_joined == 0) {
        leader->own = ucs_rcache_pred_region_expected(leader);
    }
    for (i = 0; i < slices->count; ++i) {
        if (slices->regions[i] != leader) {
            ucs_rcache_pred_region_set_deadline(slices->regions[i],
                                                UCS_RCACHE_PRED_TIME_INF);
            slices->regions[i]->extent.joined = (ucs_rcache_pred_range_t){0, 0};
            ucs_rcache_pred_region_note(&pred->table.noted,
                                        slices->regions[i]);
        }
    }
    ucs_rcache_pred_extent_join(&pred->table, &leader->extent, &slices->range,
                                UCS_RCACHE_PRED_TIME_INF);
    for (i = 0; i < slices->count; ++i) {
        pred_dequeue(pred, slices->regions[i]);
    }
    pred_unlock(pred);

    for (i = 0; i < slices->count; ++i) {
        slices->regions[i]->num_joined = 0;
        slices->regions[i]->span       = 0;
        slices->regions[i]->burst      = 0;
        slices->regions[i]->missing    = 0; /* Bursts are judged from now on */
    }
    /* Bursts are uses in a context of their own, in which none was seen yet.
     * Until then they are predicted as the leader's uses were, whatever their
     * contexts */
    ucs_rcache_pred_forecast_merge(&pred->predictor, &leader->forecast);
    leader->span       = slices_span(slices);
    leader->apart_time = slices->apart_time;
    leader->num_joined = slices->num_joined;
    leader->join_doubt = 0;
    ucs_rcache_pred_region_add_recent(leader, &slices->range, access, 0);
    return 1;
}

int pred_may_join(const ucs_rcache_pred_t *pred,
                  const ucs_rcache_pred_region_t *region,
                  ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_range_t range = ucs_rcache_pred_region_expected(region);
    ucs_rcache_pred_range_t other;

    /* While others need room, one slice is more likely to find its own than all of
     * them together: nothing is joined then */
    return !region->extent.stale && !region->extent.apart &&
           !pred_region_is_busy(region) && is_ready(region, now) &&
           ((find_next(pred, region, &range, 1, now, &other) != NULL) ||
            (find_next(pred, region, &range, 0, now, &other) != NULL)) &&
           !pred_spend_is_pressed(pred, now);
}

int pred_join_slices(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                     ucs_rcache_pred_time_t now)
{
    slices_t slices = {.count = 0};
    ucs_rcache_pred_range_t range;
    ucs_rcache_pred_times_t times;
    unsigned i;
    int ready;

    pred_lock(pred);
    range = ucs_rcache_pred_region_expected(region);
    ready = pred_may_join(pred, region, now);
    pred_unlock(pred);
    if (!ready) {
        return 0;
    }

    slices_add(pred, &slices, region, &range);
    if (!slices_grow(pred, &slices, 1, now) ||
        !slices_grow(pred, &slices, 0, now) || (slices.count < 2)) {
        return 0;
    }

    if (!pred_bursts_are_whole(slices.regions, slices.ranges, slices.count)) {
        slices_put_off(&slices);
        return 0;
    }

    pred_lock(pred);
    pred_range_times(pred, region->extent.domain, &slices.range, &times);
    pred_unlock(pred);
    if (!slices_spend(pred, &slices, &times, now) ||
        !slices_join(pred, &slices)) {
        return 0;
    }

    ucs_debug("%s: %u slices are joined: %zu bytes at %p, used within %.3f ms",
              region->extent.domain->name, slices.count,
              ucs_rcache_pred_range_length(&slices.range),
              (void*)slices.range.start, slices_span(&slices) / 1e6);
    pred_expect_end(pred, now, slices.leader->forecast.period);
    pred_lock(pred);
    pred_enqueue_registration(pred, slices.leader, slices.deadline, &times);
    pred_unlock(pred);
    for (i = 0; i < slices.count; ++i) {
        pred_region_deregister(pred, slices.regions[i]);
    }
    return 1;
}
