/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_PICTURE_H_
#define PREDREG_PICTURE_H_

#include <tools/replay/account/ledger.h>

#include <stdio.h>

BEGIN_C_DECLS

/** @file picture.h
 *
 * Curves of registered memory over time as a picture of its own: an SVG file
 * with a chart for each program and, in it, a line for each policy. Everything
 * it draws is plain data, so that programs that measure something themselves
 * can use it as well as the report. Lines differ in their dashes, and are
 * labelled at the right end at the height of their average: nothing depends on
 * colour.
 *
 *     predreg_step_t steps[]   = {{0, 4096}, {1000000, 0}};
 *     predreg_series_t predict = {"predict", steps, 2, 2000000, 2048};
 *     predreg_chart_t chart    = {"fig1", &predict, 1};
 *
 *     predreg_picture_write(stdout, "Registered memory", "", &chart, 1);
 *
 * Errors of the stream are left for the one who closes it.
 */

/** Lines of a chart: there are so many styles of lines. */
#define PREDREG_CHART_MAX_SERIES 4

/** A line. */
typedef struct predreg_series {
    const char           *label;
    const predreg_step_t *steps;     /**< By time, from 0 on, ns. Before the
                                          first one nothing is registered */
    size_t               num_steps;
    uint64_t             duration;   /**< The line ends here, ns */
    double               average;    /**< Over the duration, bytes */
} predreg_series_t;

/** Lines on the same axes. The time axis is as long as the longest line. */
typedef struct predreg_chart {
    const char             *title;
    const predreg_series_t *series;
    unsigned               num_series; /**< 1 to PREDREG_CHART_MAX_SERIES */
} predreg_chart_t;


/** Write a whole SVG file, with two charts in a row. All strings are text, not
 *  markup. */
void predreg_picture_write(FILE *out, const char *title, const char *subtitle,
                           const predreg_chart_t *charts, unsigned num_charts);

END_C_DECLS

#endif
