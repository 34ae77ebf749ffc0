/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPORT_INT_H_
#define PREDREG_REPORT_INT_H_

#include "report.h"

#include <tools/base/fields.h>
#include <tools/replay/gains.h>
#include <tools/report/data/recommend.h>
#include <tools/report/data/sites.h>

BEGIN_C_DECLS

/** @file report_int.h
 *
 * Everything that a report knows of a job. report.c fills it in, rank by rank;
 * object.c and details.c write it as one JSON object, the interface between the
 * rules in data/ and the page. docs/replay.md describes the fields of the
 * object.
 */

/** The figures of a rank, of which the page also shows the least and the
 *  most. */
enum {
    REPORT_FIGURE_USES,
    REPORT_FIGURE_HITS,     /**< Under predict */
    REPORT_FIGURE_WAITED,   /**< Waits under predict, s */
    REPORT_FIGURE_DURATION, /**< Run time under predict, or that of the recorded
                                 program without waits if predict was not played, s */
    REPORT_FIGURE_LOST,     /**< Lost events */
    REPORT_FIGURE_MEMORY,   /**< bytes: for each policy, by number, the average
                                 and the peak */
    REPORT_FIGURE_LAST = REPORT_FIGURE_MEMORY + (2 * PREDREG_REPLAY_LAST)
};

/** A rank. */
typedef struct report_rank {
    char           *name;
    long           number;        /**< In the job; -1: not known */
    char           *host;         /**< NULL: not known */
    int            ended;         /**< Whether the process came to its end */
    predreg_cost_t reg;           /**< Cost of registrations in the replay of the rank */
    predreg_cost_t own_reg;       /**< Cost of registrations by the trace of this rank
                                       alone */
    predreg_cost_t dereg;
    int            reg_known;     /**< Whether reg was measured */
    int            dereg_known;
    int            by_first_uses; /**< Whether reg was measured by first uses of
                                       memory, under leave-pinned */
    double         figures[REPORT_FIGURE_LAST];
} report_rank_t;

/** A line of meta data about the run. */
typedef struct report_meta {
    char *key;
    char *value;  /**< Value in the first added rank */
    int  differs; /**< Whether some rank has another value */
} report_meta_t;

typedef struct predreg_report {
    predreg_findings_t findings;
    predreg_advice_t   advice;    /**< Made when the page is written */
    uint64_t           pool_sum;  /**< Sum of pool_bytes over the ranks with
                                       this counter */
    uint64_t           kind_sum[UCS_RCACHE_PRED_POOL_LAST]; /**< Likewise, by kind */
    unsigned           num_pools; /**< Number of ranks with this counter */
    double             use_bytes; /**< Sum of the lengths of all uses */
    uint64_t           num_uses;
    report_rank_t      *ranks;
    unsigned           num_ranks;
    report_meta_t      *metas;
    unsigned           num_metas;
    report_curves_t    curves;
    predreg_sites_t    sites;
    predreg_sends_t    sends;
    predreg_gain_t     gain;      /**< Gain of an arena, in the ranks that were played
                                       with one */
} report_data_t;


static inline const predreg_outcome_t *
report_outcome(const report_data_t *report, predreg_replay_policy_t policy)
{
    return &report->findings.outcomes[policy];
}

/** @return whether all ranks were played under a policy. */
static inline int
report_has(const report_data_t *report, predreg_replay_policy_t policy)
{
    return predreg_is_played(&report->findings, report_outcome(report, policy));
}

/** @return the value of a meta line in the first added rank, or NULL. */
const char *report_meta(const report_data_t *report, const char *key);

/** Write a member in seconds. */
static inline void
report_write_seconds(ucs_json_t *json, const char *name, double ns)
{
    ucs_json_real(json, name, ns / 1e9);
}

/** Write the object (object.c), of at least one rank, after the advice was
 *  made. */
void report_write_object(const report_data_t *report, ucs_string_buffer_t *strb);

/** Write the members about single ranks, call sites, files, meta lines and
 *  curves (details.c). */
void report_write_details(ucs_json_t *json, const report_data_t *report);

END_C_DECLS

#endif
