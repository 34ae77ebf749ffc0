/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_FIT_H_
#define PREDREG_FIT_H_

#include "cost.h"

BEGIN_C_DECLS

/** @file fit.h
 *
 * Estimates what registrations cost from how long the recorded ones took: it
 * fits the line of least squares through the points (pages, time).
 */

/** Sums over the measurements. They are all 0 before the first one. */
typedef struct predreg_fit {
    double n;
    double x;   /**< Pages */
    double y;   /**< ns */
    double xx;
    double xy;
} predreg_fit_t;


/** Add a measurement: an operation on this range took this time, ns. */
void predreg_fit_add(predreg_fit_t *fit, uint64_t address, uint64_t length,
                     uint64_t time);

/**
 * Fit a line to all measurements. Neither cost can be negative: a line that
 * falls is replaced by the mean, and one that begins below 0 by the line
 * through the origin. If all measurements have the same size, the cost of a
 * page is taken from the guess.
 *
 * @param [in]  guess   Returned as it is if there is no measurement.
 * @return whether there is a measurement.
 */
int predreg_fit_line(const predreg_fit_t *fit, const predreg_cost_t *guess,
                     predreg_cost_t *cost);

/** @return whether the measurements differ enough in size to say what a page
 *          costs. */
int predreg_fit_knows_page(const predreg_fit_t *fit);

END_C_DECLS

#endif
