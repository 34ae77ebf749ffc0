/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPORT_CURVE_H_
#define PREDREG_REPORT_CURVE_H_

#include <tools/replay/budgets.h>
#include <tools/report/data/outcome.h>

BEGIN_C_DECLS

/** @file report_curve.h
 *
 * Replays a rank under predict with all budgets of a report's curve, by a
 * helper that shares the program's processor, and does so once more if more
 * regions are to be remembered, too. That takes as long as all else
 * in a report, and the budgets do not depend on each other: a child process
 * plays some of them. report_rank.c calls this; it plays the policies between
 * the two calls.
 */

typedef struct predreg_report_curve predreg_report_curve_t;


/**
 * Begin to replay.
 *
 * @param [in] timeline        Must live until the curve is finished.
 * @param [in] larger_regions  So many regions are to be remembered in a second
 *                             curve; 0: there is none.
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_report_curve_start(const predreg_timeline_t *timeline,
                                        uint64_t larger_regions,
                                        predreg_report_curve_t **curve_p);

/**
 * Wait until all budgets are played, and play those that nobody has begun with.
 *
 * @param [out] budgets   The budgets.
 * @param [out] outcomes  What predict comes to with each of them; room for
 *                        PREDREG_BUDGETS_MAX.
 * @param [out] larger    The same of the second curve. If there is none, it is
 *                        not written.
 * @return the status of @ref predreg_replay.
 */
ucs_status_t predreg_report_curve_finish(predreg_report_curve_t *curve,
                                         predreg_budgets_t *budgets,
                                         predreg_outcome_t *outcomes,
                                         predreg_outcome_t *larger);

/** Free a curve, finished or not. */
void predreg_report_curve_destroy(predreg_report_curve_t *curve);

END_C_DECLS

#endif
