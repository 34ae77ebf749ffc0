/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPORT_H_
#define PREDREG_REPORT_H_

#include <tools/replay/policies/policies.h>

#include <stdio.h>

BEGIN_C_DECLS

/** @file report.h
 *
 * Makes a report of a job on one HTML page: what each policy would come to, and
 * which one to use. The caller adds the ranks one by one. The report keeps no
 * pointer to what it is given.
 */

typedef struct predreg_report predreg_report_t;


/** @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_report_create(predreg_report_t **report_p);
void predreg_report_destroy(predreg_report_t *report);

/**
 * Add a rank.
 *
 * @param [in] results  Results of the policies that were played, in any order.
 *                      LEAVE_PINNED must be among them, and the policies must
 *                      be the same for all ranks.
 *
 * @return UCS_ERR_INVALID_PARAM if LEAVE_PINNED is missing, or
 *         UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_report_add(predreg_report_t *report,
                                const ucs_rcache_trace_t *trace,
                                const predreg_timeline_t *timeline,
                                const predreg_replay_result_t *results,
                                unsigned num_results);

/**
 * Write the page.
 *
 * @return UCS_ERR_INVALID_PARAM if no rank was added, UCS_ERR_IO_ERROR if the
 *         stream has an error.
 */
ucs_status_t predreg_report_write(predreg_report_t *report, FILE *out);

END_C_DECLS

#endif
