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
 * Draws curves of registered memory over time as a picture of its own: an SVG
 * file with a chart for each program and, in the chart, a line for each policy.
 * Lines differ in their dashes, and
 * are labelled at their right end, at the height of their average, so that
 * nobody needs to see colours.
 *
 *     predreg_step_t steps[]   = {{0, 4096}, {1000000, 0}};
 *     predreg_series_t predict = {"predict", steps, 2, 2000000, 2048};
 *     predreg_chart_t chart    = {"fig1", &predict, 1};
 *
 *     predreg_picture_write(stdout, "Registered memory", "", &chart, 1);
 *
 * The caller, who closes the stream, checks it for errors.
 */

/** The most lines of a chart, which is the number of styles of lines. */
#define PREDREG_CHART_MAX_SERIES 4

/** A line. */
typedef struct predreg_series {
    const char           *label;
    const predreg_step_t *steps;     /**< Sorted by time, which begins at 0, ns.
                                          Before the first step nothing is
                                          registered */
    size_t               num_steps;
    uint64_t             duration;   /**< Time of the end of the line, ns */
    double               average;    /**< Average over the duration, bytes */
} predreg_series_t;

/** Lines on the same axes. The time axis is as long as the longest line. */
typedef struct predreg_chart {
    const char             *title;
    const predreg_series_t *series;
    unsigned               num_series; /**< 1 to PREDREG_CHART_MAX_SERIES */
} predreg_chart_t;


/** Write the begin of an SVG file of that size: its styles, title and subtitle. The
 *  caller ends it with "</svg>". Strings are text, not markup. */
void predreg_picture_begin(FILE *out, const char *title, const char *subtitle,
                           unsigned width, unsigned height);

/** Write a text.
 *  @param [in] class_name  Of the styles of the picture: "name", "label", "tick".
 *  @param [in] anchor      Where (x, y) is of the text: "start", "middle" or
 *                          "end". */
void predreg_picture_text(FILE *out, double x, double y, const char *class_name,
                          const char *anchor, const char *text);

/** Write a whole SVG file, with two charts in each row. All strings are text,
 *  not markup. */
void predreg_picture_write(FILE *out, const char *title, const char *subtitle,
                           const predreg_chart_t *charts, unsigned num_charts);

END_C_DECLS

#endif
