/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPORT_RANK_H_
#define PREDREG_REPORT_RANK_H_

#include <tools/report/report.h>

BEGIN_C_DECLS

/** @file report_rank.h
 *
 * Replays a rank under all that a report compares: every policy, several bounds
 * on UCX's own cache, and more remembered regions. report.c calls this for each
 * trace.
 */

/**
 * Replay a rank, and add the results to a report.
 *
 * @param [in]  own_reg  What registrations cost by its own trace, which the
 *                       timeline need not have.
 * @return UCS_ERR_NO_MEMORY, or what a replay failed with.
 */
ucs_status_t predreg_report_play(predreg_report_t *report,
                                 const ucs_rcache_trace_t *trace,
                                 const predreg_timeline_t *timeline,
                                 const predreg_cost_t *own_reg);

END_C_DECLS

#endif
