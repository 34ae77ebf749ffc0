/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "points.h"

#include <ucs/rcache_pred/predict/cost.h>

#include <ucs/sys/math.h>

#include <math.h>
#include <stdlib.h>

#define MIN_ROOM        16
/* Sizes below this many pages are classes of their own */
#define EXACT_PAGES     8
#define CLASSES_PER_OCTAVE 4
/* More than there are: of 2^52 pages in all */
#define MAX_CLASSES     256
/* So often an interval is halved until it is as narrow as a number can tell */
#define NUM_HALVINGS    200


/* A value and how much it counts: the quartile of a class as a point of the
 * line, or a candidate for where the line begins */
typedef struct weighted {
    predreg_point_t point;
    double          weight;
} weighted_t;


static ucs_status_t make_room(predreg_points_t *points, size_t room)
{
    predreg_point_t *larger;

    if (room <= points->room) {
        return UCS_OK;
    }

    room   = ucs_max(ucs_max(room, 2 * points->room), MIN_ROOM);
    larger = realloc(points->points, room * sizeof(*larger));
    if (larger == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    points->points = larger;
    points->room   = room;
    return UCS_OK;
}

ucs_status_t predreg_points_add(predreg_points_t *points, uint64_t address,
                                uint64_t length, uint64_t time)
{
    ucs_status_t status = make_room(points, points->num_points + 1);

    if (status == UCS_OK) {
        points->points[points->num_points++] = (predreg_point_t){
            .pages = ucs_rcache_pred_pages(address, length, PREDREG_PAGE_SIZE),
            .time  = time
        };
    }

    return status;
}

ucs_status_t predreg_points_add_all(predreg_points_t *points,
                                    const predreg_points_t *others)
{
    ucs_status_t status = make_room(points, points->num_points +
                                            others->num_points);
    size_t i;

    for (i = 0; (status == UCS_OK) && (i < others->num_points); ++i) {
        points->points[points->num_points++] = others->points[i];
    }

    return status;
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
 * @return how many classes there are. */
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

/* @return whether of the slopes between any two points more are above a value
 * than below it, by their weights. All points differ in size. */
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

/* @return the median slope, or 0 if that is negative */
static double median_slope(const weighted_t *points, unsigned count)
{
    double low  = 0;
    double high = 0;
    double middle;
    unsigned i;

    /* No slope is higher: sizes differ by a page at least */
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

static int compare_times(const void *a, const void *b)
{
    double left  = ((const weighted_t*)a)->point.time;
    double right = ((const weighted_t*)b)->point.time;

    return (left > right) - (left < right);
}

/* @return the median of the times, by their weights: the lower one of two. The
 * points are sorted by this. */
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

/* @return the median over all points of the time a page takes */
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
