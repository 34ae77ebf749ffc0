/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_CALIBRATE_H_
#define UCT_PREDREG_CALIBRATE_H_

#include "measure.h"

BEGIN_C_DECLS

/** @file calibrate.h
 *
 * What small sends cost on this machine: as it was measured before, or measured
 * now.
 */

/**
 * Find the costs in the user's cache folder; if they are not there, measure them,
 * which takes up to UCT_PREDREG_MEASURE_MAX_NSEC, and keep them there. Why they
 * were not there, and whether they could be kept, is logged for debugging. The
 * lookup, if there is one, is measured always, since that takes next to nothing.
 *
 * See uct_predreg_measure() for what may not be locked; files are read and
 * written as well.
 *
 * @return what params->map returned if that failed, or UCS_ERR_NO_MEMORY; then
 *         the costs are undefined.
 */
ucs_status_t
uct_predreg_calibrate(const uct_predreg_calibrate_params_t *params,
                      ucs_reuse_costs_t *costs);

END_C_DECLS

#endif
