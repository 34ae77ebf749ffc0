/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_POINTS_H_
#define PREDREG_POINTS_H_

#include "cost.h"

#include <ucs/type/status.h>

#include <stddef.h>

BEGIN_C_DECLS

/** @file points.h
 *
 * Estimates what registrations cost from a few measurements, of which some are
 * far too long: that of a page that was touched for the first time, or of a
 * process that was held up by another one. fit.h is for many measurements of
 * registrations alone. timeline.c collects the measurements of a rank, and the
 * report puts those of all ranks together.
 *
 * What disturbs a measurement only makes it longer. So of those of one size,
 * which means within a quarter of an octave, the lower quartile counts. Through
 * these quartiles goes the line whose slope is the median of the slopes between
 * any two of them, weighted by how far they are apart and by the number of
 * measurements behind both (Theil and Sen, with weights), and which has half of
 * the measurements on each side.
 */

/** A measurement. */
typedef struct predreg_point {
    double pages;
    double time;  /**< ns */
} predreg_point_t;

/** Measurements, in any order. There are none if all is 0. */
typedef struct predreg_points {
    predreg_point_t *points;
    size_t          num_points;
    size_t          room;      /**< For so many there is memory */
} predreg_points_t;


/** Add the measurement of an operation on a range that took this time, ns.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_points_add(predreg_points_t *points, uint64_t address,
                                uint64_t length, uint64_t time);

/** Add all measurements of others.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_points_add_all(predreg_points_t *points,
                                    const predreg_points_t *others);

void predreg_points_cleanup(predreg_points_t *points);

/**
 * Put a line through all measurements, which are sorted by this. Neither cost
 * can be negative: a line that falls is replaced by a level one, and one that
 * begins below 0 by one from the origin. If all have the same size, the cost of
 * a page is taken from the guess.
 *
 * @param [in]  guess         Returned as it is if there is no measurement.
 * @param [out] page_known_p  Whether the measurements say what a page costs.
 * @return whether there is a measurement.
 */
int predreg_points_line(predreg_points_t *points, const predreg_cost_t *guess,
                        predreg_cost_t *cost, int *page_known_p);

END_C_DECLS

#endif
