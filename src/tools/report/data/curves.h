/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_CURVES_H_
#define PREDREG_CURVES_H_

#include <tools/replay/policies/policies.h>

BEGIN_C_DECLS

/** @file curves.h
 *
 * The program of a rank over time: facts about its uses that explain the
 * advice, its period, and the curves of registered memory under each policy.
 * The report finds the facts of each rank, and takes the curves of the rank
 * with the most memory.
 */

typedef struct predreg_evidence {
    uint64_t buffers;    /**< Number of used buffers: start addresses, in each
                              domain */
    double   use_bytes;  /**< Sum of the lengths of all uses, bytes */
    double   in_use;     /**< Bytes of uses times their duration, byte * s.
                              Memory in several uses counts several times */
    double   in_long_use; /**< The same sum, but only of uses longer than half of the
                               program */
    uint64_t period;     /**< Time from one use of a buffer to the next, ns: the
                              median of all, weighted by bytes; 0: the program
                              uses no buffer twice */
    uint64_t period_begin; /**< Begin of a use near the middle of the program, ns
                                without waits; its buffer is used again after about
                                this period */
} predreg_evidence_t;


void predreg_evidence_find(const predreg_timeline_t *timeline,
                           predreg_evidence_t *evidence);


/** Number of columns of a curve: on a wide screen each is a pixel. */
#define PREDREG_CURVE_COLUMNS 1000

/** The registered memory in the time of a column, bytes. The extremes show even
 *  the shortest peak. */
typedef struct predreg_column {
    uint64_t min;
    uint64_t max;
    uint64_t last; /**< Registered memory at the end of the column's time */
} predreg_column_t;

/**
 * Reduce a curve of any number of steps to columns.
 *
 * @param [in]  steps    Sorted by time. Nothing is registered before the first
 *                       step.
 * @param [in]  begin    Time of the left edge, ns.
 * @param [in]  end      Time of the right edge, ns, > begin. Steps outside of
 *                       the edges are left out; a step exactly at the right
 *                       edge counts in the last column.
 * @param [in]  num_columns  > 0.
 */
void predreg_curve_columns(const predreg_step_t *steps, size_t num_steps,
                           int64_t begin, int64_t end,
                           predreg_column_t *columns, unsigned num_columns);


/** The page has a zoom, a curve of a single period, only if the period is shorter than
 *  this part of the program: the curve of the whole program shows so short periods as
 *  nothing but peaks side by side. */
#define PREDREG_ZOOM_PART     0.125
/** The length of a zoom, in periods: more than one, to show the time before the
 *  use as well. */
#define PREDREG_ZOOM_PERIODS  1.25
/** The zoom has the same length for all policies. The length grows with the run time of
 *  the slowest policy, but at most by this factor. */
#define PREDREG_ZOOM_SLOWEST  4


/** The curve of a policy. */
typedef struct report_curve {
    int              known;    /**< Whether the policy was played */
    double           average;  /**< bytes */
    uint64_t         peak;
    uint64_t         zoom_begin; /**< Time of the left edge of the zoom, ns */
    predreg_column_t columns[PREDREG_CURVE_COLUMNS]; /**< The whole program */
    predreg_column_t zoom[PREDREG_CURVE_COLUMNS];    /**< A period of the program */
} report_curve_t;

/** The curves of the rank with the most memory under leave-pinned. */
typedef struct report_curves {
    const char     *rank;     /**< Name of the rank */
    uint64_t       duration;  /**< Run time under the slowest policy, ns */
    uint64_t       period;    /**< Time from one use of a buffer to the next,
                                   ns; 0: there is no zoom */
    uint64_t       zoom;      /**< Length of the zoom, ns */
    report_curve_t curves[PREDREG_REPLAY_LAST];
} report_curves_t;


/** Take the curves of a rank, in place of earlier ones.
 *  @param [in]  name  Its name, which lives as long as the curves. */
void report_curves_take(report_curves_t *curves, const char *name,
                        const predreg_timeline_t *timeline,
                        const predreg_evidence_t *evidence,
                        const predreg_replay_result_t *results,
                        unsigned num_results);

END_C_DECLS

#endif
