/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "costs.h"
#include "ranges.h"

#include <tools/base/containers.h>
#include <ucs/rcache_pred/predict/policy.h>

#include <ucs/sys/math.h>

#include <math.h>
#include <stdlib.h>

/* The longest time of an operation, ns: 36 years. With this limit, sums of times fit into
 * 64 bits. */
#define MAX_COST           (UINT64_MAX >> 4)
/* UCX 1.13.1, src/ucs/arch/x86_64/cpu.c: ucs_cpu_est_bcopy_bw of most processors, bytes a
 * second */
#define COPY_RATE          (5800. * (1 << 20))
#define NSEC_PER_SEC       1e9
/* Each size below this many pages has a class of its own */
#define EXACT_PAGES        8
#define CLASSES_PER_OCTAVE 4
/* Room for classes: all sizes up to 2^52 pages have fewer */
#define MAX_CLASSES        256
/* Number of halvings of an interval. After so many halvings, a double cannot tell the
 * ends of the interval apart */
#define NUM_HALVINGS       200


/* A value and its weight: the quartile of a class as a point of the line, or a
 * candidate for the begin of the line */
typedef struct weighted {
    predreg_point_t point;
    double          weight;
} weighted_t;


static double num_pages(uint64_t address, uint64_t length)
{
    return ucs_rcache_pred_pages(address, length, PREDREG_PAGE_SIZE);
}

uint64_t predreg_cost_of(const predreg_cost_t *cost, uint64_t address,
                         uint64_t length)
{
    double time = (cost->page * num_pages(address, length)) + cost->op +
                  0.5; /* Round to the nearest number */

    return (time >= MAX_COST) ? MAX_COST : time;
}

uint64_t predreg_copy_time(uint64_t length)
{
    return length / COPY_RATE * NSEC_PER_SEC + 0.5;
}

int predreg_trace_costs(const ucs_rcache_trace_t *trace, ucs_reuse_costs_t *costs)
{
    const char *text = ucs_rcache_trace_get_meta(trace, UCS_REUSE_COSTS_META);

    return (text != NULL) && ucs_reuse_costs_parse(text, costs);
}

int predreg_fit_line(const ucs_line_t *fit, const predreg_cost_t *guess,
                     predreg_cost_t *cost, int *page_known_p)
{
    *cost         = *guess;
    *page_known_p = (fit->n > 0) && ucs_line_fit(fit, &cost->page, &cost->op);
    return fit->n > 0;
}

void predreg_points_add(predreg_points_t *points, uint64_t address,
                        uint64_t length, uint64_t time)
{
    *predreg_add(points->points, points->num_points) = (predreg_point_t){
        .pages = num_pages(address, length),
        .time  = time
    };
}

void predreg_points_add_all(predreg_points_t *points,
                            const predreg_points_t *others)
{
    size_t i;

    for (i = 0; i < others->num_points; ++i) {
        *predreg_add(points->points, points->num_points) = others->points[i];
    }
}

void predreg_points_spread(const predreg_points_t *points, const predreg_cost_t *cost,
                           predreg_spread_t *spread)
{
    const predreg_point_t *point;
    double usual;

    predreg_for_each(point, points->points, points->num_points) {
        usual = cost->op + (cost->page * point->pages);
        *predreg_add(spread->factors, spread->num) = (usual > 0) ? (point->time / usual) : 1;
    }
}

void predreg_points_cleanup(predreg_points_t *points)
{
    free(points->points);
}

static int class_of(const predreg_point_t *point)
{
    return (point->pages < EXACT_PAGES) ?
           point->pages : (CLASSES_PER_OCTAVE * log2(point->pages));
}

/* Sort by class, then by time */
static int compare_points(const void *a, const void *b)
{
    const predreg_point_t *left  = a;
    const predreg_point_t *right = b;
    int classes                  = class_of(left) - class_of(right);

    return (classes != 0) ? classes :
           ((left->time > right->time) - (left->time < right->time));
}

/* Get the lower quartile of each class.
 * @return the number of classes. */
static unsigned find_quartiles(predreg_points_t *points, weighted_t *quartiles)
{
    predreg_point_t *first = points->points;
    predreg_point_t *end   = points->points + points->num_points;
    unsigned count         = 0;
    predreg_point_t *next;

    qsort(first, points->num_points, sizeof(*first), compare_points);
    for (; first < end; first = next) {
        for (next = first + 1;
             (next < end) && (class_of(next) == class_of(first)); ++next) {
        }
        quartiles[count++] = (weighted_t){
            .point  = first[(next - first - 1) / 4],
            .weight = next - first
        };
    }

    return count;
}

/* @return whether the slopes above a value have more weight than the slopes below it,
 *         over all pairs of points. All points differ in size. */
static int slopes_are_above(const weighted_t *points, unsigned count,
                            double value)
{
    double sum = 0;
    double distance, rise, weight;
    unsigned i, k;

    for (i = 0; i < count; ++i) {
        for (k = 0; k < i; ++k) {
            distance = points[i].point.pages - points[k].point.pages;
            rise     = points[i].point.time - points[k].point.time;
            weight   = distance * points[i].weight * points[k].weight;
            sum     += (rise > value * distance) ? weight : -weight;
        }
    }

    return sum > 0;
}

/* @return the median slope, or 0 if it is negative. */
static double median_slope(const weighted_t *points, unsigned count)
{
    double low  = 0;
    double high = 0;
    double middle;
    unsigned i;

    /* No slope is higher than the longest time: two sizes differ by a page at least */
    for (i = 0; i < count; ++i) {
        high = ucs_max(high, points[i].point.time);
    }

    for (i = 0; i < NUM_HALVINGS; ++i) {
        middle = (low + high) / 2;
        if (slopes_are_above(points, count, middle)) {
            low = middle;
        } else {
            high = middle;
        }
    }

    return high;
}

PREDREG_COMPARE(compare_times, weighted_t, point.time)

/* Sort the points by time.
 * @return the median of the times, by their weights; between two medians, the lower
 *         one. */
static double median_time(weighted_t *points, unsigned count)
{
    double half = 0;
    double sum  = 0;
    unsigned i;

    qsort(points, count, sizeof(*points), compare_times);
    for (i = 0; i < count; ++i) {
        half += points[i].weight / 2;
    }

    for (i = 0; i < count - 1; ++i) {
        sum += points[i].weight;
        if (sum >= half) {
            break;
        }
    }

    return points[i].point.time;
}

/* @return the median of the times of a page, over all points. */
static double median_per_page(weighted_t *points, unsigned count)
{
    unsigned i;

    for (i = 0; i < count; ++i) {
        points[i].point.time /= points[i].point.pages;
    }

    return median_time(points, count);
}

int predreg_points_line(predreg_points_t *points, const predreg_cost_t *guess,
                        predreg_cost_t *cost, int *page_known_p)
{
    weighted_t quartiles[MAX_CLASSES], rest[MAX_CLASSES];
    unsigned count, i;

    *cost         = *guess;
    *page_known_p = 0;
    if (points->num_points == 0) {
        return 0;
    }

    count = find_quartiles(points, quartiles);
    if (count > 1) {
        *page_known_p = 1;
        cost->page    = median_slope(quartiles, count);
    }

    for (i = 0; i < count; ++i) {
        rest[i]             = quartiles[i];
        rest[i].point.time -= cost->page * rest[i].point.pages;
    }

    cost->op = median_time(rest, count);
    if (cost->op < 0) {
        cost->op   = 0;
        cost->page = median_per_page(quartiles, count);
    }

    return 1;
}

void predreg_points_sum(const predreg_points_t *points, int usual, ucs_line_t *fit)
{
    const predreg_cost_t none = {0, 0};
    predreg_cost_t cost;
    predreg_points_t sorted   = {};
    const predreg_point_t *point;
    int page_known;

    *fit = (ucs_line_t){};
    predreg_points_add_all(&sorted, points);
    predreg_points_line(&sorted, &none, &cost, &page_known);
    predreg_points_cleanup(&sorted);
    predreg_for_each(point, points->points, points->num_points) {
        if (!usual || (point->time <=
                       UCS_RCACHE_PRED_SLOW_TIMES * (cost.op + (cost.page * point->pages)))) {
            ucs_line_add(fit, point->pages, point->time);
        }
    }
}

/* @return how many bytes two ranges that overlap have in common */
static uint64_t common_bytes(const predreg_range_t *a, const predreg_range_t *b)
{
    return ucs_min(a->end, b->end) - ucs_max(a->start, b->start);
}

/* Whether a range contains another one */
static int covers(const predreg_range_t *outer, const predreg_range_t *inner)
{
    return (outer->start <= inner->start) && (outer->end >= inner->end);
}

predreg_first_t predreg_first_uses_begin(predreg_first_uses_t *uses, unsigned domain,
                                         uint64_t address, uint64_t length,
                                         uint64_t duration)
{
    const predreg_range_t used = {
        .start  = address,
        .end    = address + length,
        .domain = domain
    };
    predreg_range_t merged     = used;
    int is_alone               = 1;
    uint64_t seen              = 0;
    predreg_range_t *other;

    while ((other = predreg_ranges_find(&uses->registered, &merged)) != NULL) {
        if (covers(other, &used)) {
            return PREDREG_FIRST_NOT;
        }

        /* If the use covers this registered range, UCX registers just the range of the
         * use anew, and the use measures this registration. Otherwise UCX registers a
         * larger range, and the use measures nothing */
        is_alone     = is_alone && covers(&used, other);
        seen        += (other->end > address) && (other->start < used.end) ?
                       common_bytes(&used, other) : 0;
        merged.start = ucs_min(merged.start, other->start);
        merged.end   = ucs_max(merged.end, other->end);
        predreg_ranges_remove(&uses->registered, other);
    }

    uses->num_domains = ucs_max(uses->num_domains, domain + 1);
    predreg_ranges_insert(&uses->registered, &merged);
    if (is_alone && (duration > 0)) {
        predreg_points_add(&uses->points, address, length, duration);
    }
    return (seen == length) ? PREDREG_FIRST_NOT :
           is_alone         ? PREDREG_FIRST_ALONE : PREDREG_FIRST_PARTLY;
}

void predreg_first_uses_unmap(predreg_first_uses_t *uses, uint64_t start,
                              uint64_t end)
{
    predreg_range_t part = { .start = start, .end = end };
    predreg_range_t *range;

    for (; (start < end) && (part.domain < uses->num_domains); ++part.domain) {
        while ((range = predreg_ranges_find(&uses->registered, &part)) !=
               NULL) {
            predreg_ranges_cut(&uses->registered, range, start, end);
        }
    }
}

void predreg_first_uses_cleanup(predreg_first_uses_t *uses)
{
    predreg_ranges_cleanup(&uses->registered);
    predreg_points_cleanup(&uses->points);
}
