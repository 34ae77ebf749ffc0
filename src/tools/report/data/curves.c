/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "curves.h"

#include <tools/base/containers.h>

#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>

#define NSEC_PER_SEC 1e9


/* Hash table: for each buffer, by its address and domain, the begin of its last use so
 * far, ns */
KHASH_INIT(buffers, predreg_pair_t, uint64_t, 1, PREDREG_PAIR_HASH, PREDREG_PAIR_EQUAL)

/* The time between the begins of two consecutive uses of a buffer */
typedef struct interval {
    uint64_t length; /* ns */
    uint64_t begin;  /* ns */
    uint64_t bytes;
} interval_t;


PREDREG_COMPARE(interval_compare, interval_t, length, begin)

/* Collect the time from each use of a buffer to the next use of the buffer. Uses with the
 * same begin count as one. @return the number of intervals. */
static size_t find_intervals(const predreg_timeline_t *timeline,
                             khash_t(buffers) *buffers, interval_t *intervals)
{
    size_t count = 0;
    const predreg_use_t *use;
    predreg_pair_t buffer;
    khiter_t iter;
    int ret;

    predreg_for_each(use, timeline->uses, timeline->num_uses) {
        buffer = (predreg_pair_t){ use->address, use->domain };
        iter   = predreg_kh_put(buffers, buffers, buffer, &ret);
        if ((ret == UCS_KH_PUT_KEY_PRESENT) &&
            (use->begin > kh_val(buffers, iter))) {
            intervals[count++] = (interval_t){
                .length = use->begin - kh_val(buffers, iter),
                .begin  = kh_val(buffers, iter),
                .bytes  = use->length
            };
        }
        kh_val(buffers, iter) = use->begin;
    }

    return count;
}

/* Find the period, which is the median of the intervals, weighted by bytes, and the
 * interval of about this length that begins nearest to the middle of the program */
static void find_period(interval_t *intervals, size_t count, uint64_t duration,
                        predreg_evidence_t *evidence)
{
    uint64_t nearest = UINT64_MAX;
    double bytes     = 0, sum = 0;
    uint64_t distance;
    size_t i;

    if (count == 0) {
        return;
    }

    qsort(intervals, count, sizeof(*intervals), interval_compare);
    for (i = 0; i < count; ++i) {
        bytes += intervals[i].bytes;
    }
    for (i = 0; (i < count - 1) && (sum + intervals[i].bytes < bytes / 2);
         ++i) {
        sum += intervals[i].bytes;
    }

    evidence->period = intervals[i].length;
    for (i = 0; i < count; ++i) {
        distance = ucs_max(intervals[i].begin, duration / 2) -
                   ucs_min(intervals[i].begin, duration / 2);
        if ((intervals[i].length >= evidence->period - evidence->period / 8) &&
            (intervals[i].length <= evidence->period + evidence->period / 8) &&
            (distance < nearest)) {
            nearest                = distance;
            evidence->period_begin = intervals[i].begin;
        }
    }
}

static void add_uses(const predreg_timeline_t *timeline,
                     predreg_evidence_t *evidence)
{
    const predreg_use_t *use;
    double byte_seconds;

    predreg_for_each(use, timeline->uses, timeline->num_uses) {
        byte_seconds         = use->length * ((use->end - use->begin) /
                                              NSEC_PER_SEC);
        evidence->use_bytes += use->length;
        evidence->in_use    += byte_seconds;
        if (use->end - use->begin > timeline->duration / 2) {
            evidence->in_long_use += byte_seconds;
        }
    }
}

void predreg_evidence_find(const predreg_timeline_t *timeline,
                           predreg_evidence_t *evidence)
{
    khash_t(buffers) buffers = KHASH_STATIC_INITIALIZER;
    interval_t *intervals    = predreg_alloc(timeline->num_uses,
                                             sizeof(*intervals));
    size_t count             = find_intervals(timeline, &buffers, intervals);

    *evidence = (predreg_evidence_t){ .buffers = kh_size(&buffers) };
    find_period(intervals, count, timeline->duration, evidence);
    add_uses(timeline, evidence);
    kh_destroy_inplace(buffers, &buffers);
    free(intervals);
}

/* @return the time at which a column begins. The function computes this time in two
 *         parts: the nanoseconds of a long run times the number of columns would not fit
 *         into 64 bits. */
static int64_t edge_of(int64_t begin, int64_t end, unsigned column,
                       unsigned num_columns)
{
    int64_t width = end - begin;

    return begin + (width / num_columns) * column +
           ((width % num_columns) * column) / num_columns;
}

void predreg_curve_columns(const predreg_step_t *steps, size_t num_steps,
                           int64_t begin, int64_t end,
                           predreg_column_t *columns, unsigned num_columns)
{
    uint64_t bytes = 0;
    size_t i       = 0;
    predreg_column_t *column;
    int64_t left, right;
    unsigned c;

    for (c = 0; c < num_columns; ++c) {
        column = &columns[c];
        left   = edge_of(begin, end, c, num_columns);
        right  = edge_of(begin, end, c + 1, num_columns);
        if (c == num_columns - 1) {
            ++right;
        }

        /* Find the registered bytes at the begin of the column */
        for (; (i < num_steps) && (steps[i].time <= left); ++i) {
            bytes = steps[i].bytes;
        }

        column->min = column->max = bytes;
        for (; (i < num_steps) && (steps[i].time < right); ++i) {
            bytes       = steps[i].bytes;
            column->min = ucs_min(column->min, bytes);
            column->max = ucs_max(column->max, bytes);
        }
        column->last = bytes;
    }
}

/* Take the zoom of a curve: the period in the middle of the program. A slower policy
 * plays this period later and longer. By how much is known only for the whole program,
 * and therefore the zoom may show a neighbouring part of the program instead. */
static void zoom(report_curve_t *curve, const report_curves_t *curves,
                 const predreg_evidence_t *evidence, double slower,
                 const predreg_sum_t *pinned)
{
    double begin = evidence->period_begin * slower -
                   (curves->zoom - curves->period * slower) / 2;

    curve->zoom_begin = ucs_max(begin, 0);
    predreg_curve_columns(pinned->curve, pinned->num_steps, curve->zoom_begin,
                          curve->zoom_begin + curves->zoom, curve->zoom,
                          PREDREG_CURVE_COLUMNS);
}

/* @return the run time under a policy, as a multiple of the run time without waits. */
static double slowdown(const predreg_replay_result_t *result,
                       const predreg_timeline_t *timeline)
{
    return (timeline->duration == 0) ?
           1 : ((double)result->duration / timeline->duration);
}

/* Take the zoom of each policy's curve, if periods are so short that the whole curve does
 * not show one */
static void take_zoom(report_curves_t *curves,
                      const predreg_timeline_t *timeline,
                      const predreg_evidence_t *evidence,
                      const predreg_replay_result_t *results,
                      unsigned num_results)
{
    double slowest = 1;
    unsigned i;

    if ((evidence->period == 0) ||
        (evidence->period > PREDREG_ZOOM_PART * timeline->duration)) {
        return;
    }

    for (i = 0; i < num_results; ++i) {
        slowest = ucs_max(slowest, slowdown(&results[i], timeline));
    }

    curves->period = evidence->period;
    curves->zoom   = ucs_max(1, evidence->period * PREDREG_ZOOM_PERIODS *
                                ucs_min(slowest, PREDREG_ZOOM_SLOWEST));
    for (i = 0; i < num_results; ++i) {
        zoom(&curves->curves[results[i].policy], curves, evidence,
             slowdown(&results[i], timeline), &results[i].pinned);
    }
}

void report_curves_take(report_curves_t *curves, const char *name,
                        const predreg_timeline_t *timeline,
                        const predreg_evidence_t *evidence,
                        const predreg_replay_result_t *results,
                        unsigned num_results)
{
    const predreg_sum_t *pinned;
    report_curve_t *curve;
    unsigned i;

    memset(curves, 0, sizeof(*curves));
    curves->rank     = name;
    curves->duration = 1;
    for (i = 0; i < num_results; ++i) {
        curves->duration = ucs_max(curves->duration, results[i].duration);
    }

    for (i = 0; i < num_results; ++i) {
        pinned         = &results[i].pinned;
        curve          = &curves->curves[results[i].policy];
        curve->known   = 1;
        curve->average = results[i].pinned_avg_bytes;
        curve->peak    = pinned->peak_bytes;
        predreg_curve_columns(pinned->curve, pinned->num_steps, 0,
                              curves->duration, curve->columns,
                              PREDREG_CURVE_COLUMNS);
    }

    take_zoom(curves, timeline, evidence, results, num_results);
}
