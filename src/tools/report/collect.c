/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "collect.h"

#include <ucs/sys/math.h>


const predreg_replay_result_t *
report_find_result(const predreg_report_rank_t *rank,
                   predreg_replay_policy_t policy)
{
    unsigned i;

    for (i = 0; i < rank->num_results; ++i) {
        if (rank->results[i].policy == policy) {
            return &rank->results[i];
        }
    }

    return NULL;
}

/* Whether a trace was written by the recorder. Who makes one himself needs not
 * write what the recorder does at the end. */
static int report_is_recorded(const ucs_rcache_trace_t *trace)
{
    return ucs_rcache_trace_get_meta(trace, "clock_ns") != NULL;
}

/* The recorder writes the counters at the end, and the time once more */
int report_is_unended(const ucs_rcache_trace_t *trace)
{
    return report_is_recorded(trace) && (trace->num_counters == 0) &&
           (ucs_rcache_trace_get_meta(trace, "clock_end_ns") == NULL);
}

/* Add what predict comes to with each budget. The budgets are of the job: what
 * a rank does not have counts as not played of all ranks */
static void report_add_curve(predreg_findings_t *findings,
                             const predreg_report_rank_t *input)
{
    const predreg_outcome_t *larger;
    unsigned i;

    if (input->budgets == NULL) {
        return;
    }

    findings->budgets = *input->budgets;
    larger            = (input->larger != NULL) ? input->larger_curve :
                                                  input->curve;
    for (i = 0; i < input->budgets->num; ++i) {
        predreg_outcome_add_outcome(&findings->curve[i], &input->curve[i]);
        predreg_outcome_add_outcome(&findings->larger_curve[i], &larger[i]);
    }
}

/* Add what the policies of a rank come to */
static void report_add_outcomes(predreg_findings_t *findings,
                                const predreg_report_rank_t *input)
{
    const predreg_replay_result_t *larger = input->larger;
    const predreg_replay_result_t *result;

    for (result = input->results; result < input->results + input->num_results;
         ++result) {
        predreg_outcome_add(&findings->outcomes[result->policy], result);
    }

    predreg_bounds_add(findings->bounds,
                       report_find_result(input, PREDREG_REPLAY_LEAVE_PINNED),
                       input->bounds, input->num_bounds);

    /* A rank whose buffers predict remembers anyway was not played with more
     * regions, since the result would be the same */
    larger = (larger != NULL) ? larger :
             report_find_result(input, PREDREG_REPLAY_PREDICT);
    if (larger != NULL) {
        predreg_outcome_add(&findings->larger, larger);
    }
    findings->larger_regions = ucs_max(findings->larger_regions,
                                       input->larger_regions);
    findings->known_regions  = input->known_regions;
    report_add_curve(findings, input);
}

/* @return how many memory domains a process opened, at least: who makes a trace
 * himself needs not name them */
static unsigned report_num_domains(const ucs_rcache_trace_t *trace)
{
    return report_is_recorded(trace) ? trace->num_domains :
                                       ucs_max(trace->num_domains, 1);
}

/* Add what is known of a rank besides that */
static void report_add_evidence(predreg_report_t *report,
                                const predreg_report_rank_t *input)
{
    predreg_findings_t *findings       = &report->findings;
    const predreg_evidence_t *evidence = input->evidence;
    const predreg_timeline_t *timeline = input->timeline;

    findings->max_buffers    = ucs_max(findings->max_buffers,
                                       evidence->buffers);
    findings->sum_buffers   += evidence->buffers;
    findings->in_use        += evidence->in_use;
    findings->in_long_use   += evidence->in_long_use;
    findings->events        += input->trace->num_events;
    findings->lost          += input->trace->lost;
    findings->truncated     += !!input->trace->truncated;
    findings->unended       += report_is_unended(input->trace);
    findings->domains        = ucs_max(findings->domains,
                                       report_num_domains(input->trace));

    /* A rank that uses nothing does not need to know what that costs */
    if (timeline->num_uses > 0) {
        findings->reg_guessed   += !timeline->reg_known;
        findings->dereg_guessed += !timeline->dereg_known;
    }

    report->num_uses  += timeline->num_uses;
    report->use_bytes += evidence->use_bytes;
}

/* Add what UCX has registered for itself, if the trace tells it */
static void report_add_pools(predreg_report_t *report,
                             const ucs_rcache_trace_t *trace)
{
    uint64_t pools;

    if (ucs_rcache_trace_get_counter(trace, "pool_bytes", &pools)) {
        report->pool_sum += pools;
        ++report->num_pools;
        report->findings.pools_known = 1;
        report->findings.pool_bytes  = report->pool_sum / report->num_pools;
    }
}

void report_collect(predreg_report_t *report,
                    const predreg_report_rank_t *input)
{
    report_add_outcomes(&report->findings, input);
    report_add_evidence(report, input);
    report_add_pools(report, input->trace);
}
