/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_FIT_H_
#define PREDREG_FIT_H_

#include "timeline.h"

BEGIN_C_DECLS

/** @file fit.h
 *
 * From the times that a trace has of registrations and deregistrations to what they cost in
 * a replay: the last step of making a timeline.
 */

/** The times, by what was registered. */
typedef struct {
    predreg_points_t reg;       /**< Memory that was registered before */
    predreg_points_t first_reg; /**< Memory that was not */
    predreg_points_t dereg;
} predreg_measured_t;


/**
 * Set the costs of a timeline, and of what first registrations took the time beyond that.
 *
 * @param [inout] timeline   Its uses have in @a fresh all of the time of the first
 *                           registration of their memory.
 * @param [inout] first_uses The times of first uses of memory that UCX's own cache registered.
 *                           The timeline gets them if the library registered nothing.
 */
void predreg_timeline_fit(predreg_timeline_t *timeline, const ucs_rcache_trace_t *trace,
                          const predreg_measured_t *measured, predreg_points_t *first_uses);

END_C_DECLS

#endif
