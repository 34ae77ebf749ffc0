/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_PLOT_H_
#define PREDREG_PLOT_H_

#include "curve.h"

#include <stdio.h>

BEGIN_C_DECLS

/** @file plot.h
 *
 * The lines and areas of curves, as paths of SVG in a box of
 * PREDREG_CURVE_COLUMNS by PREDREG_PLOT_HEIGHT units, whose upper edge is the
 * top of an axis. An <svg> element around them with that view box, as
 * predreg_plot_open() writes it, stretches them to any size.
 *
 * Called by panel.c for a page and by picture.c for a file. Errors of the
 * stream are left for the one who closes it.
 */

/** Height of the box. Its y coordinates grow downwards, as those of SVG do. */
#define PREDREG_PLOT_HEIGHT 1000

/** An axis of bytes from 0 upwards. */
typedef struct predreg_axis {
    double top;  /**< Bytes at the upper edge */
    double step; /**< Bytes from one line of the grid to the next */
} predreg_axis_t;


/** An axis that reaches up to the peak, in bytes, and has two or three lines of
 *  the grid at numbers that are round in their unit. */
predreg_axis_t predreg_axis_choose(uint64_t peak);

/** @return where this many bytes are between the upper edge, 0, and the lower
 *          edge, 1. */
double predreg_axis_depth(const predreg_axis_t *axis, double bytes);

/** Begin the box. The caller ends it with "</svg>".
 *  @param [in] place  Attributes that place it in the element around it. */
void predreg_plot_open(FILE *out, const char *place);

/** The outline of a curve: in each column it goes up to the most that was
 *  registered, down to the least, and to what the column ends with.
 *  @param [in] num_columns  Where the line ends; at most
 *                           PREDREG_CURVE_COLUMNS.
 *  @param [in] class_name       Name of the style it is drawn in. */
void predreg_plot_line(FILE *out, const predreg_column_t *columns,
                       unsigned num_columns, const predreg_axis_t *axis,
                       const char *class_name);

/** The area below the most of each of all columns, in the style "area". */
void predreg_plot_area(FILE *out, const predreg_column_t *columns,
                       const predreg_axis_t *axis);

END_C_DECLS

#endif
