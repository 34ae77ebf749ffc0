/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_PLOT_H_
#define PREDREG_PLOT_H_

#include <tools/report/data/curves.h>

#include <stdio.h>

BEGIN_C_DECLS

/** @file plot.h
 *
 * Writes the lines and areas of curves, as paths of SVG in a box of
 * PREDREG_CURVE_COLUMNS by PREDREG_PLOT_HEIGHT units, whose upper edge is the
 * top of an axis. The <svg> element with that view box, which
 * predreg_plot_open() writes around them, stretches them to any size.
 *
 * picture.c calls this. The caller who closes the stream checks it for
 * errors.
 */

/** Height of the box. Its y coordinates grow downwards, as those of SVG do. */
#define PREDREG_PLOT_HEIGHT 1000

/** An axis of bytes from 0 upwards. */
typedef struct predreg_axis {
    double top;  /**< Bytes at the upper edge */
    double step; /**< Bytes from one line of the grid to the next */
} predreg_axis_t;


/** @return an axis that reaches up to the peak, in bytes, and has two or three
 *  grid lines at round numbers of a unit. */
predreg_axis_t predreg_axis_choose(uint64_t peak);

/** @return the height of this many bytes, as a number from 0 at the upper edge
 *  to 1 at the lower edge. */
double predreg_axis_depth(const predreg_axis_t *axis, double bytes);

/** Write the begin of the box. The caller ends it with "</svg>".
 *  @param [in] place  Attributes that place it in the element around it. */
void predreg_plot_open(FILE *out, const char *place);

/** Write the outline of a curve. In each column it goes up to the most that
 *  was registered in it, down to the least, and to what was registered at its
 *  end.
 *  @param [in] num_columns  Where the line ends; at most
 *                           PREDREG_CURVE_COLUMNS.
 *  @param [in] class_name       Name of the style it is drawn in. */
void predreg_plot_line(FILE *out, const predreg_column_t *columns,
                       unsigned num_columns, const predreg_axis_t *axis,
                       const char *class_name);

/** Write the area below a curve, up to the most of each column, in the style
 *  "area". */
void predreg_plot_area(FILE *out, const predreg_column_t *columns,
                       const predreg_axis_t *axis);

END_C_DECLS

#endif
