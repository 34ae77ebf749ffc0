/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_PANEL_H_
#define PREDREG_PANEL_H_

#include "plot.h"

BEGIN_C_DECLS

/** @file panel.h
 *
 * Draws a curve as a figure of an HTML page: the area below it, its average,
 * and another curve to compare it with; and, beside it, a part of it on a
 * longer time axis. The curve is stretched to the width of the page, while text
 * keeps its size. The section of curves calls this;
 * report.css has the styles.
 */

typedef struct predreg_panel {
    const char             *label;    /**< Name of the curve */
    unsigned               id;        /**< Number that no other panel of the
                                           page has */
    const predreg_column_t *columns;  /**< PREDREG_CURVE_COLUMNS of them */
    uint64_t               duration;  /**< Time of the right edge, ns; that of
                                           the left one is 0 */
    double                 average;   /**< Average over time, bytes */
    uint64_t               peak;      /**< bytes */
    const char             *other_label;
    const predreg_column_t *other;    /**< Columns of the curve to compare with,
                                           which is drawn as a dashed line;
                                           NULL: none */
    const predreg_column_t *zoom_columns; /**< PREDREG_CURVE_COLUMNS of a short
                                               part of the curve, which is drawn
                                               beside the whole; NULL: none */
    uint64_t               zoom_begin;    /**< Where that begins, ns */
    uint64_t               zoom_duration; /**< How long it is, ns */
} predreg_panel_t;


/** Write a figure.
 *  @param [in] axis  Shared by the panels of a page, so that heights can be
 *                    compared. */
void predreg_panel_write(FILE *out, const predreg_panel_t *panel,
                         const predreg_axis_t *axis);

END_C_DECLS

#endif
