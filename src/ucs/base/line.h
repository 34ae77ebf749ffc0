/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_LINE_H_
#define UCS_LINE_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file line.h
 *
 * A line of least squares through points, slope * x + begin, for costs: neither slope nor
 * begin is ever negative. The cache fits the costs of registrations while the program
 * runs, the replay fits recorded costs, and the part for small sends (EAGER) fits costs
 * that it measures at the start. First uses of buffers, some of which take far too long
 * for other reasons, need medians in place of squares, see tools/replay/program/costs.h.
 *
 * The functions are pure.
 */

/** The points say nothing about the slope if the spread of x is less than this
 *  part of sum(x^2). */
#define UCS_LINE_MIN_SPREAD 1e-6


/** Sums over the points, each times the weight of its point. All 0: there is no
 *  point. */
typedef struct ucs_line {
    double n;  /**< Sum of the weights */
    double x;
    double y;
    double xx;
    double xy;
} ucs_line_t;


/** Add a point of weight 1. */
static inline void ucs_line_add(ucs_line_t *line, double x, double y)
{
    line->n  += 1;
    line->x  += x;
    line->y  += y;
    line->xx += x * x;
    line->xy += x * y;
}

/** Multiply the weights of all points so far by a factor. */
static inline void ucs_line_fade(ucs_line_t *line, double part)
{
    line->n  *= part;
    line->x  *= part;
    line->y  *= part;
    line->xx *= part;
    line->xy *= part;
}

/**
 * Fit a line to one or more points. The mean replaces a falling line, and a
 * line through the origin replaces a line with a negative begin, so that no x
 * has the cost 0.
 *
 * @param [inout] slope_p  The former slope, which stays if all x are about the
 *                         same, unless the begin would be negative.
 * @param [out]   begin_p  The line at x = 0.
 * @return whether the points tell the slope; 0 if all x are about the same.
 */
static inline int
ucs_line_fit(const ucs_line_t *line, double *slope_p, double *begin_p)
{
    double spread = (line->n * line->xx) - (line->x * line->x);
    int is_known  = spread > UCS_LINE_MIN_SPREAD * line->n * line->xx;

    if (is_known) {
        *slope_p = ((line->n * line->xy) - (line->x * line->y)) / spread;
        if (*slope_p < 0) {
            *slope_p = 0;
        }
    }

    *begin_p = (line->y - (*slope_p * line->x)) / line->n;
    if (*begin_p < 0) {
        *begin_p = 0;
        *slope_p = line->xy / line->xx;
    }
    return is_known;
}

END_C_DECLS

#endif
