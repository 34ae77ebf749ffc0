/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPORT_RANK_H_
#define PREDREG_REPORT_RANK_H_

#include <tools/report/report.h>
#include <uct/ib/predreg/core/knobs.h>

BEGIN_C_DECLS

/** @file report_rank.h
 *
 * Replays a rank for a report: under every policy, with several bounds on UCX's own
 * cache, and with several budgets. report.c calls the function for each trace.
 */

/**
 * Replay a rank, and add the results to a report.
 *
 * @param [in]  own_reg  Cost of registrations by the rank's own trace. The timeline may
 *                       have a cost by all traces of the job instead.
 * @param [in]  knobs    Of the library's policies.
 * @return the status of the first replay that fails.
 */
ucs_status_t predreg_report_play(predreg_report_t *report,
                                 const ucs_rcache_trace_t *trace,
                                 const predreg_timeline_t *timeline,
                                 const predreg_cost_t *own_reg,
                                 const uct_predreg_knobs_t *knobs);

END_C_DECLS

#endif
