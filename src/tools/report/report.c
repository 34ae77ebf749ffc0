/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "report.h"

#include <tools/report/data/report_data.h>
#include <tools/report/page/page.h>

#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>


ucs_status_t predreg_report_create(predreg_report_t **report_p)
{
    predreg_report_t *report = calloc(1, sizeof(*report));
    ucs_status_t status;

    if (report == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    status = predreg_sites_create(&report->sites);
    if (status != UCS_OK) {
        free(report);
        return status;
    }

    *report_p = report;
    return UCS_OK;
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

    predreg_sites_destroy(report->sites);
    free(report->ranks);
    free(report->metas);
    free(report);
}

static const predreg_replay_result_t *
report_find_result(const predreg_replay_result_t *results, unsigned num_results,
                   predreg_replay_policy_t policy)
{
    unsigned i;

    for (i = 0; i < num_results; ++i) {
        if (results[i].policy == policy) {
            return &results[i];
        }
    }

    return NULL;
}

/* Add a rank's meta lines: the report keeps those of the first rank, and
 * whether other ranks differ */
static ucs_status_t report_add_meta(predreg_report_t *report,
                                    const ucs_rcache_trace_t *trace)
{
    const char *value;
    unsigned i;

    if (report->num_ranks == 0) {
        report->metas = calloc(trace->num_meta + 1, sizeof(*report->metas));
        if (report->metas == NULL) {
            return UCS_ERR_NO_MEMORY;
        }

        for (i = 0; i < trace->num_meta; ++i) {
            report->metas[i].key   = strdup(trace->meta[i].key);
            report->metas[i].value = strdup(trace->meta[i].value);
            report->num_metas      = i + 1;
            if ((report->metas[i].key == NULL) ||
                (report->metas[i].value == NULL)) {
                return UCS_ERR_NO_MEMORY;
            }
        }
    }

    for (i = 0; i < report->num_metas; ++i) {
        value = ucs_rcache_trace_get_meta(trace, report->metas[i].key);
        if ((value == NULL) || strcmp(value, report->metas[i].value)) {
            report->metas[i].differs = 1;
        }
    }

    return UCS_OK;
}

/* Make the name of a rank: its number, or the name of its file if it has
 * none */
static char *report_rank_name(const ucs_rcache_trace_t *trace)
{
    const char *rank = ucs_rcache_trace_get_meta(trace, "rank");
    const char *slash;
    char *name;

    if ((rank != NULL) && (asprintf(&name, "rank %s", rank) >= 0)) {
        return name;
    }

    slash = strrchr(trace->path, '/');
    return strdup((slash == NULL) ? trace->path : (slash + 1));
}

static ucs_status_t report_add_rank(predreg_report_t *report,
                                    const ucs_rcache_trace_t *trace,
                                    const predreg_timeline_t *timeline,
                                    const predreg_replay_result_t *results,
                                    unsigned num_results)
{
    const char *host = ucs_rcache_trace_get_meta(trace, "host");
    const predreg_replay_result_t *predict;
    report_rank_t *ranks, *rank;
    unsigned i;

    ranks = realloc(report->ranks, (report->num_ranks + 1) * sizeof(*ranks));
    if (ranks == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    report->ranks = ranks;
    rank          = &ranks[report->num_ranks];
    *rank         = (report_rank_t){
        .name      = report_rank_name(trace),
        .host      = (host == NULL) ? NULL : strdup(host),
        .events    = trace->num_events,
        .lost      = trace->lost,
        .truncated = trace->truncated,
        .guessed   = !timeline->reg_known || !timeline->dereg_known,
        .uses      = timeline->num_uses,
        .duration  = timeline->duration
    };
    if ((rank->name == NULL) || ((host != NULL) && (rank->host == NULL))) {
        free(rank->name);
        free(rank->host);
        return UCS_ERR_NO_MEMORY;
    }

    ++report->num_ranks;
    for (i = 0; i < num_results; ++i) {
        rank->average[results[i].policy] = results[i].pinned_avg_bytes;
        rank->peak[results[i].policy]    = results[i].pinned.peak_bytes;
    }

    predict = report_find_result(results, num_results, PREDREG_REPLAY_PREDICT);
    if (predict != NULL) {
        rank->hits     = predict->hits;
        rank->waited   = predict->waited;
        rank->duration = predict->duration;
    }

    return UCS_OK;
}

static void report_add_findings(predreg_findings_t *findings,
                                const report_rank_t *rank,
                                const predreg_replay_result_t *results,
                                unsigned num_results)
{
    unsigned i;

    for (i = 0; i < num_results; ++i) {
        predreg_outcome_add(&findings->outcomes[results[i].policy],
                            &results[i]);
    }

    findings->events    += rank->events;
    findings->lost      += rank->lost;
    findings->truncated |= rank->truncated;
    findings->guessed   |= rank->guessed;
}

static void report_take_curves(predreg_report_t *report, unsigned rank,
                               const predreg_replay_result_t *results,
                               unsigned num_results)
{
    report_curves_t *curves = &report->curves;
    const predreg_sum_t *pinned;
    unsigned i;

    memset(curves, 0, sizeof(*curves));
    curves->rank     = rank;
    curves->duration = 1;
    for (i = 0; i < num_results; ++i) {
        curves->duration = ucs_max(curves->duration, results[i].duration);
    }

    for (i = 0; i < num_results; ++i) {
        pinned                              = &results[i].pinned;
        curves->known[results[i].policy]   = 1;
        curves->average[results[i].policy] = results[i].pinned_avg_bytes;
        predreg_curve_columns(pinned->curve, pinned->num_steps, 0,
                              curves->duration,
                              curves->columns[results[i].policy],
                              PREDREG_CURVE_COLUMNS);
    }
}

ucs_status_t predreg_report_add(predreg_report_t *report,
                                const ucs_rcache_trace_t *trace,
                                const predreg_timeline_t *timeline,
                                const predreg_replay_result_t *results,
                                unsigned num_results)
{
    const predreg_replay_result_t *pinned, *predict;
    ucs_status_t status;
    unsigned index;
    uint64_t pools;

    pinned  = report_find_result(results, num_results,
                                 PREDREG_REPLAY_LEAVE_PINNED);
    predict = report_find_result(results, num_results, PREDREG_REPLAY_PREDICT);
    if (pinned == NULL) {
        return UCS_ERR_INVALID_PARAM;
    }

    status = report_add_meta(report, trace);
    if (status != UCS_OK) {
        return status;
    }

    index  = report->num_ranks;
    status = report_add_rank(report, trace, timeline, results, num_results);
    if (status != UCS_OK) {
        return status;
    }

    status = predreg_sites_add(report->sites, trace,
                               (predict != NULL) ? predict : pinned);
    if (status != UCS_OK) {
        return status;
    }

    report_add_findings(&report->findings, &report->ranks[index], results,
                        num_results);
    if ((index == 0) ||
        (pinned->pinned_avg_bytes >
         report->curves.average[PREDREG_REPLAY_LEAVE_PINNED])) {
        report_take_curves(report, index, results, num_results);
    }

    if (ucs_rcache_trace_get_counter(trace, "pool_bytes", &pools)) {
        report->pool_sum += pools;
        ++report->num_pools;
        report->findings.pool_bytes = report->pool_sum / report->num_pools;
    }

    return UCS_OK;
}

ucs_status_t predreg_report_write(predreg_report_t *report, FILE *out)
{
    if (report->num_ranks == 0) {
        return UCS_ERR_INVALID_PARAM;
    }

    predreg_recommend(&report->findings, &report->advice);
    predreg_page_write(report, out);
    return ferror(out) ? UCS_ERR_IO_ERROR : UCS_OK;
}
