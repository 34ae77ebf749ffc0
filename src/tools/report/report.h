/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPORT_H_
#define PREDREG_REPORT_H_

#include <tools/report/data/curves.h>
#include <tools/report/data/findings.h>
#include <ucs/reuse/costs.h>

#include <stdio.h>

BEGIN_C_DECLS

/** @file report.h
 *
 * Makes a report of a job on one HTML page: the outcome of each policy, and the
 * recommended one. The caller adds the ranks one by one; the report keeps no
 * pointer to its arguments.
 */

typedef struct predreg_report predreg_report_t;

/** A rank, and its results. */
typedef struct predreg_report_rank {
    const ucs_rcache_trace_t      *trace;
    const predreg_timeline_t      *timeline;
    const predreg_evidence_t      *evidence;
    const predreg_replay_result_t *results; /**< Results of the policies with their
                                                 defaults, in any order; the policy
                                                 LEAVE_PINNED must be among them. The
                                                 report leaves out a policy if the
                                                 result of some rank is missing */
    unsigned                      num_results;
    const predreg_replay_result_t *bounds;  /**< Results of LRU with the limits of @ref
                                                 predreg_bounds_to_try */
    unsigned                      num_bounds;
    const predreg_cost_t          *own_reg; /**< Cost of registrations by the trace of
                                                 this rank alone; NULL: the same cost
                                                 as in the timeline */
    uint64_t                      known_regions; /**< The most regions that PREDICT
                                                      remembers */
    const predreg_budgets_t       *budgets; /**< Budgets of the curve, the same
                                                 for all ranks; NULL: there is
                                                 no curve */
    const predreg_outcome_t       *curve;  /**< For each budget, the outcome of
                                                PREDICT with a helper on the
                                                program's processor */
    const ucs_reuse_costs_t       *small_costs; /**< Costs of small sends on
                                                     this machine; NULL: not
                                                     known */
    double                        eager_fraction; /**< The library registers a buffer
                                                       after this part of the
                                                       break-even number of sends */
} predreg_report_rank_t;


predreg_report_t *predreg_report_create(void);
void predreg_report_destroy(predreg_report_t *report);

/** @return UCS_ERR_INVALID_PARAM if LEAVE_PINNED is missing. */
ucs_status_t predreg_report_add(predreg_report_t *report,
                                const predreg_report_rank_t *rank);

/** Tell the report how many traces of the job are damaged, and are not added. */
void predreg_report_leave_out(predreg_report_t *report, unsigned count);

/**
 * Write the report: as one JSON object on a line, which docs/replay.md
 * describes, or as a page made of this object, with the object inside. The same
 * ranks make the same text.
 *
 * @return UCS_ERR_INVALID_PARAM if no rank was added, UCS_ERR_IO_ERROR if the
 *         stream has an error.
 */
ucs_status_t predreg_report_write(predreg_report_t *report, int is_json,
                                  FILE *out);

END_C_DECLS

#endif
