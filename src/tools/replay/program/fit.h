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
 * What registrations cost, from how long the recorded ones took: the line
 * through (pages, time) of the least squares.
 */

/** Sums over the measurements. All 0: none yet. */
typedef struct predreg_fit {
    double n;
    double x;   /**< Pages */
    double y;   /**< ns */
    double xx;
    double xy;
} predreg_fit_t;


/** Add a measurement: what was done to a range took this time, ns. */
void predreg_fit_add(predreg_fit_t *fit, uint64_t address, uint64_t length,
                     uint64_t time);

/**
 * Make the line of all measurements. Neither a page nor an operation costs less
 * than nothing: a line that falls is replaced by the mean, and one that begins
 * below 0 by that through the origin. Where all measurements have one size, the
 * guess says what a page costs.
 *
 * @param [in]  guess   Stands if there is no measurement.
 * @return whether there is.
 */
int predreg_fit_line(const predreg_fit_t *fit, const predreg_cost_t *guess,
                     predreg_cost_t *cost);

END_C_DECLS

#endif
