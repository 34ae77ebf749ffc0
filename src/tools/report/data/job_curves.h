/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_JOB_CURVES_H_
#define PREDREG_JOB_CURVES_H_

#include "curve.h"
#include "evidence.h"

#include <tools/replay/policies/policies.h>

BEGIN_C_DECLS

/** @file job_curves.h
 *
 * The curves that a report shows of a job: for each policy the whole program,
 * and a period of it if the whole has many, which the page
 * shows if the whole is nothing but peaks side by side. The report
 * takes them of the rank that has most memory.
 */

/** A period is shown only if it is shorter than this part of the program. */
#define PREDREG_ZOOM_PART     0.125
/** How much of the program a zoom shows, in periods: a bit more than one, so
 *  that what happens before its use is seen as well. */
#define PREDREG_ZOOM_PERIODS  1.25
/** By how much a zoom is longer than that, at most, for the sake of policies
 *  under which the program is slower. */
#define PREDREG_ZOOM_SLOWEST  4


/** The curve of a policy. */
typedef struct report_curve {
    int              known;    /**< Whether the policy was played */
    double           average;  /**< bytes */
    uint64_t         peak;
    uint64_t         zoom_begin; /**< Time of the left edge of the zoom, ns */
    predreg_column_t columns[PREDREG_CURVE_COLUMNS]; /**< The whole program */
    predreg_column_t zoom[PREDREG_CURVE_COLUMNS];    /**< A period of it */
} report_curve_t;

/** The curves of one rank: the one with the most memory under leave-pinned. */
typedef struct report_curves {
    const char     *rank;     /**< Its name */
    uint64_t       duration;  /**< Duration under the policy that takes
                                   longest, ns */
    uint64_t       period;    /**< Time from one use of a buffer to the next,
                                   ns; 0: there is no zoom */
    uint64_t       zoom;      /**< Time that the zoom shows, ns */
    report_curve_t curves[PREDREG_REPLAY_LAST];
} report_curves_t;


/**
 * Take the curves of a rank, in place of those that were taken before.
 *
 * @param [in]  name  Its name, which lives as long as the curves.
 */
void report_curves_take(report_curves_t *curves, const char *name,
                        const predreg_timeline_t *timeline,
                        const predreg_evidence_t *evidence,
                        const predreg_replay_result_t *results,
                        unsigned num_results);

END_C_DECLS

#endif
