/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_COLLECT_H_
#define PREDREG_COLLECT_H_

#include "report.h"

#include <tools/report/data/report_data.h>

BEGIN_C_DECLS

/** @file collect.h
 *
 * Adds what a rank came to to what is known of the job. report.c calls this for
 * each rank.
 */

/** @return the result of a policy, or NULL if the rank was not played under
 *  it. */
const predreg_replay_result_t *
report_find_result(const predreg_report_rank_t *rank,
                   predreg_replay_policy_t policy);

/** @return whether a process did not come to its end. */
int report_is_unended(const ucs_rcache_trace_t *trace);

/** Add the outcomes of a rank, and what else its trace tells, to the findings
 *  of the job.
 *  @param [in] input  Must have a result of LEAVE_PINNED. */
void report_collect(predreg_report_t *report,
                    const predreg_report_rank_t *input);

END_C_DECLS

#endif
