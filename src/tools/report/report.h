/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPORT_H_
#define PREDREG_REPORT_H_

#include <tools/report/data/bounds.h>
#include <tools/report/data/evidence.h>
#include <tools/replay/replay.h>
#include <ucs/reuse/costs.h>

#include <stdio.h>

BEGIN_C_DECLS

/** @file report.h
 *
 * Makes a report of a job on one HTML page: what each policy would come to, and
 * which one to use. The caller adds the ranks one by one. The report keeps no
 * pointer to what it is given.
 */

typedef struct predreg_report predreg_report_t;

/** A rank, and what each policy comes to. */
typedef struct predreg_report_rank {
    const ucs_rcache_trace_t      *trace;
    const predreg_timeline_t      *timeline;
    const predreg_evidence_t      *evidence;
    const predreg_replay_result_t *results; /**< Of the policies with their
                                                 defaults, in any order.
                                                 LEAVE_PINNED must be among
                                                 them. A policy that is not
                                                 played of all ranks is left
                                                 out of the report */
    unsigned                      num_results;
    const predreg_replay_result_t *bounds;  /**< Of LRU, with the limits of
                                                 @ref predreg_bounds_to_try */
    unsigned                      num_bounds;
    const predreg_cost_t          *own_reg; /**< What registrations cost by the
                                                 trace of this rank alone; NULL:
                                                 as in the timeline */
    uint64_t                      known_regions; /**< How many regions PREDICT
                                                      remembers at most */
    const predreg_budgets_t       *budgets; /**< Budgets of the curve, the same
                                                 for all ranks; NULL: there is
                                                 no curve */
    const predreg_outcome_t       *curve;  /**< For each of them, what PREDICT
                                                comes to with a helper that
                                                shares the program's
                                                processor */
    const ucs_reuse_costs_t       *small_costs; /**< What small sends take on
                                                     this machine; NULL: not
                                                     known */
    double                        eager_fraction; /**< After which part of the
                                                       break-even number of
                                                       sends a buffer is
                                                       registered */
} predreg_report_rank_t;


/** @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_report_create(predreg_report_t **report_p);
void predreg_report_destroy(predreg_report_t *report);

/** @return UCS_ERR_INVALID_PARAM if LEAVE_PINNED is missing, or
 *          UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_report_add(predreg_report_t *report,
                                const predreg_report_rank_t *rank);

/** Tell that so many traces of the job are damaged, and are not added. */
void predreg_report_leave_out(predreg_report_t *report, unsigned count);

/**
 * Write what the report knows: as one JSON object on a line, which
 * docs/replay.md describes, or as a page that is made of that object and has it
 * in it. The same ranks make the same text.
 *
 * @return UCS_ERR_INVALID_PARAM if no rank was added, UCS_ERR_IO_ERROR if the
 *         stream has an error.
 */
ucs_status_t predreg_report_write(predreg_report_t *report, int is_json,
                                  FILE *out);

END_C_DECLS

#endif
