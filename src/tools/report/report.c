/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "report_int.h"
#include "page_html.h"

#include <tools/report/page/template.h>

#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>


predreg_report_t *predreg_report_create(void)
{
    return predreg_alloc(1, sizeof(predreg_report_t));
}

void predreg_report_destroy(predreg_report_t *report)
{
    unsigned i;

    for (i = 0; i < report->num_ranks; ++i) {
        free(report->ranks[i].name);
        free(report->ranks[i].host);
    }

    for (i = 0; i < report->num_metas; ++i) {
        free(report->metas[i].key);
        free(report->metas[i].value);
    }

    predreg_sites_cleanup(&report->sites);
    free(report->ranks);
    free(report->metas);
    free(report);
}

static const predreg_replay_result_t *
find_result(const predreg_report_rank_t *rank, predreg_replay_policy_t policy)
{
    unsigned i;

    for (i = 0; i < rank->num_results; ++i) {
        if (rank->results[i].policy == policy) {
            return &rank->results[i];
        }
    }

    return NULL;
}

/* @return whether the recorder wrote the trace. Another trace need not have the lines
 *         that the recorder writes at the end. */
static int is_recorded(const ucs_rcache_trace_t *trace)
{
    return ucs_rcache_trace_get_meta(trace, "clock_ns") != NULL;
}

/* Whether a process did not come to its end: at the end the recorder writes the
 * counters, and the time once more */
static int is_unended(const ucs_rcache_trace_t *trace)
{
    return is_recorded(trace) && (trace->num_counters == 0) &&
           (ucs_rcache_trace_get_meta(trace, "clock_end_ns") == NULL);
}

/* Add the results of a rank. All ranks have the same budgets. If some rank was not played
 * with a budget, the report treats the budget as not played */
static void add_outcomes(predreg_findings_t *findings,
                         const predreg_report_rank_t *input)
{
    const predreg_replay_result_t *result;
    unsigned i;

    predreg_for_each(result, input->results, input->num_results) {
        predreg_outcome_add(&findings->outcomes[result->policy], result);
    }

    predreg_bounds_add(findings->bounds,
                       find_result(input, PREDREG_REPLAY_LEAVE_PINNED),
                       input->bounds, input->num_bounds);
    findings->known_regions = input->known_regions;
    if (input->budgets != NULL) {
        findings->budgets = *input->budgets;
        for (i = 0; i < input->budgets->num; ++i) {
            predreg_outcome_add_outcome(&findings->curve[i], &input->curve[i]);
        }
    }
}

/* @return the number of memory domains that a process has opened. A made-up trace need
 *         not name its domains, and counts as at least one. */
static unsigned num_domains(const ucs_rcache_trace_t *trace)
{
    return is_recorded(trace) ? trace->num_domains :
                                       ucs_max(trace->num_domains, 1);
}

/* Add what the recorded process had of its node, and whether it had an arena */
static void add_machine(predreg_findings_t *findings, const ucs_rcache_trace_t *trace)
{
    uint64_t idle, ranks;

    if (ucs_rcache_trace_get_number(trace, "idle_cpus", &idle) &&
        ucs_rcache_trace_get_number(trace, "node_ranks", &ranks) && (ranks > 0)) {
        ++findings->tell_idle;
        findings->have_idle += (idle >= ranks);
    }
    findings->in_arena  += predreg_is_in_arena(trace);
}

/* Add the facts about a rank */
static void add_evidence(predreg_report_t *report,
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
    findings->unended       += is_unended(input->trace);
    findings->domains        = ucs_max(findings->domains,
                                       num_domains(input->trace));

    /* A rank without uses needs no costs */
    if (timeline->num_uses > 0) {
        findings->reg_guessed   += !timeline->reg_known;
        findings->dereg_guessed += !timeline->dereg_known;
    }

    report->num_uses  += timeline->num_uses;
    report->use_bytes += evidence->use_bytes;
}

/* Add the memory of UCX's own pools, if the trace has this counter */
static void add_pools(predreg_report_t *report,
                      const ucs_rcache_trace_t *trace)
{
    char name[UCS_RCACHE_PRED_COUNTER_NAME];
    uint64_t pools;
    unsigned i;

    if (ucs_rcache_trace_get_counter(trace, "pool_bytes", &pools)) {
        report->pool_sum += pools;
        ++report->num_pools;
        report->findings.pools_known = 1;
        report->findings.pool_bytes  = report->pool_sum / report->num_pools;
    }

    for (i = 0; i < UCS_RCACHE_PRED_POOL_LAST; ++i) {
        snprintf(name, sizeof(name), "pool_%s_bytes", ucs_rcache_pred_pool_names[i]);
        if (ucs_rcache_trace_get_counter(trace, name, &pools)) {
            report->kind_sum[i]            += pools;
            report->findings.pool_kinds[i]  = report->kind_sum[i] / report->num_pools;
        }
    }
}

/* Add what the process has counted of its keys */
static void add_keys(predreg_findings_t *findings, const ucs_rcache_trace_t *trace)
{
    uint64_t keys;

    if (ucs_rcache_trace_get_counter(trace, "keys_peak", &keys)) {
        findings->keys_peak = ucs_max(findings->keys_peak, keys);
    }
    if (ucs_rcache_trace_get_counter(trace, "keys_limit", &keys) &&
        ((findings->keys_limit == 0) || (keys < findings->keys_limit))) {
        findings->keys_limit = keys;
    }
}

/* Add a rank's meta lines: the report keeps the lines of the first rank, and
 * whether other ranks differ */
static void add_meta(predreg_report_t *report, const ucs_rcache_trace_t *trace)
{
    const char *value;
    report_meta_t *meta;
    unsigned i;

    for (i = 0; (report->num_ranks == 0) && (i < trace->num_meta); ++i) {
        meta        = predreg_add(report->metas, report->num_metas);
        meta->key   = predreg_format("%s", trace->meta[i].key);
        meta->value = predreg_format("%s", trace->meta[i].value);
    }

    for (i = 0; i < report->num_metas; ++i) {
        value = ucs_rcache_trace_get_meta(trace, report->metas[i].key);
        if ((value == NULL) || strcmp(value, report->metas[i].value)) {
            report->metas[i].differs = 1;
        }
    }
}

/* Make the name of a rank: its number or, without a number, the name of its
 * file */
static char *rank_name(const ucs_rcache_trace_t *trace)
{
    const char *rank = ucs_rcache_trace_get_meta(trace, "rank");

    return predreg_format("%s%s", (rank == NULL) ? "" : "rank ",
                          (rank == NULL) ? basename(trace->path) : rank);
}

static void add_rank(predreg_report_t *report,
                     const predreg_report_rank_t *input)
{
    const ucs_rcache_trace_t *trace    = input->trace;
    const char *host                   =
            ucs_rcache_trace_get_meta(trace, "host");
    const char *number                 =
            ucs_rcache_trace_get_meta(trace, "rank");
    const predreg_timeline_t *timeline = input->timeline;
    const predreg_replay_result_t *result, *predict;
    report_rank_t *rank                = predreg_add(report->ranks,
                                                     report->num_ranks);
    double *figures                    = rank->figures;
    double *memory;

    *rank = (report_rank_t){
        .name          = rank_name(trace),
        .number        = (number == NULL) ? -1 : strtol(number, NULL, 10),
        .host          = (host == NULL) ? NULL : predreg_format("%s", host),
        .ended         = !trace->truncated && !is_unended(trace),
        .reg           = timeline->reg,
        .own_reg       = (input->own_reg != NULL) ? *input->own_reg :
                                                    timeline->reg,
        .dereg         = timeline->dereg,
        .reg_known     = timeline->reg_known,
        .dereg_known   = timeline->dereg_known,
        .by_first_uses = timeline->first_uses.num_points > 0
    };
    predreg_for_each(result, input->results, input->num_results) {
        memory    = figures + REPORT_FIGURE_MEMORY + (2 * result->policy);
        memory[0] = result->pinned_avg_bytes;
        memory[1] = result->pinned.peak_bytes;
    }

    predict = find_result(input, PREDREG_REPLAY_PREDICT);
    figures[REPORT_FIGURE_USES]     = timeline->num_uses;
    figures[REPORT_FIGURE_LOST]     = trace->lost;
    figures[REPORT_FIGURE_DURATION] = timeline->duration / 1e9;
    if (predict != NULL) {
        figures[REPORT_FIGURE_HITS]     = predict->hits;
        figures[REPORT_FIGURE_WAITED]   = predict->waited / 1e9;
        figures[REPORT_FIGURE_DURATION] = predict->duration / 1e9;
    }
}

ucs_status_t predreg_report_add(predreg_report_t *report,
                                const predreg_report_rank_t *input)
{
    const predreg_replay_result_t *pinned, *predict, *arena;

    pinned  = find_result(input, PREDREG_REPLAY_LEAVE_PINNED);
    predict = find_result(input, PREDREG_REPLAY_PREDICT);
    if (pinned == NULL) {
        return UCS_ERR_INVALID_PARAM;
    }

    add_meta(report, input->trace);
    add_rank(report, input);
    predreg_sites_add(&report->sites, input->trace,
                      (predict != NULL) ? predict : pinned);
    predreg_sends_add(&report->sends, input->trace, input->small_costs,
                      input->eager_fraction);
    arena = find_result(input, PREDREG_REPLAY_ARENA);
    if ((arena != NULL) && (predict != NULL)) {
        predreg_gain_add(&report->gain, pinned, predict, arena,
                         predreg_is_in_arena(input->trace));
    }

    add_outcomes(&report->findings, input);
    add_evidence(report, input);
    add_pools(report, input->trace);
    add_keys(&report->findings, input->trace);
    add_machine(&report->findings, input->trace);
    if ((report->num_ranks == 1) ||
        (pinned->pinned_avg_bytes >
         report->curves.curves[PREDREG_REPLAY_LEAVE_PINNED].average)) {
        report_curves_take(&report->curves,
                           report->ranks[report->num_ranks - 1].name,
                           input->timeline, input->evidence, input->results,
                           input->num_results);
    }

    return UCS_OK;
}

void predreg_report_leave_out(predreg_report_t *report, unsigned count)
{
    report->findings.left_out = count;
}

/* Find the costs of registrations and deregistrations of a use of average
 * length, and their range over the ranks */
static void find_costs(predreg_report_t *report)
{
    predreg_findings_t *findings = &report->findings;
    uint64_t bytes               = (report->num_uses == 0) ?
                                   0 : (report->use_bytes / report->num_uses);
    const report_rank_t *rank;
    uint64_t cost;

    findings->use_bytes     = bytes;
    findings->least_reg     = UINT64_MAX;
    findings->most_reg      = 0;
    findings->common_reg    = 0;
    findings->guessed_dereg = 0;
    predreg_for_each(rank, report->ranks, report->num_ranks) {
        if (rank->figures[REPORT_FIGURE_USES] == 0) {
            continue;
        }

        if (rank->reg_known) {
            cost                = predreg_cost_of(&rank->own_reg, 0, bytes);
            findings->least_reg = ucs_min(findings->least_reg, cost);
            findings->most_reg  = ucs_max(findings->most_reg, cost);
        }
        if (rank->by_first_uses) {
            findings->common_reg = predreg_cost_of(&rank->reg, 0, bytes);
        }
        if (!rank->dereg_known) {
            findings->guessed_dereg = predreg_cost_of(&rank->dereg, 0, bytes);
        }
    }
    findings->least_reg = ucs_min(findings->least_reg, findings->most_reg);
}

static int compare_ranks(const void *a, const void *b)
{
    const report_rank_t *left  = a;
    const report_rank_t *right = b;

    return ucs_rcache_trace_compare(left->number, left->name, right->number,
                                    right->name);
}

/* Make the advice, and the object */
static void make_object(predreg_report_t *report, ucs_string_buffer_t *strb)
{
    qsort(report->ranks, report->num_ranks, sizeof(*report->ranks),
          compare_ranks);
    predreg_sites_sort(&report->sites);
    find_costs(report);
    predreg_recommend(&report->findings, &report->advice);
    report_write_object(report, strb);
}

ucs_status_t predreg_report_write(predreg_report_t *report, int is_json,
                                  FILE *out)
{
    ucs_status_t status = UCS_OK;
    ucs_string_buffer_t strb;

    if (report->num_ranks == 0) {
        return UCS_ERR_INVALID_PARAM;
    }

    ucs_string_buffer_init(&strb);
    make_object(report, &strb);
    if (is_json) {
        fprintf(out, "%s\n", ucs_string_buffer_cstr(&strb));
    } else {
        status = predreg_template_write(report_page,
                                        ucs_string_buffer_cstr(&strb), out);
    }

    ucs_string_buffer_cleanup(&strb);
    return ((status == UCS_OK) && ferror(out)) ? UCS_ERR_IO_ERROR : status;
}
