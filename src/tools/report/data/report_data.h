/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPORT_DATA_H_
#define PREDREG_REPORT_DATA_H_

#include "job_curves.h"
#include "recommend.h"
#include "sites.h"

#include <tools/replay/gain.h>
#include <tools/replay/sends.h>

BEGIN_C_DECLS

/** @file report_data.h
 *
 * All that a report knows of a job. report.c fills it in, rank by rank, and the
 * sections of the page read it.
 */

/** A rank. */
typedef struct report_rank {
    char     *name;
    long     number;     /**< In the job; -1: not known */
    char     *host;      /**< NULL: not known */
    uint64_t events;
    uint64_t lost;
    int      ended;      /**< Whether the process came to its end */
    uint64_t uses;
    uint64_t hits;       /**< Under predict, as are the next two */
    uint64_t waited;     /**< ns */
    uint64_t duration;   /**< ns */
    predreg_cost_t reg;     /**< What registrations cost in its replay */
    predreg_cost_t own_reg; /**< The same, by its own trace alone */
    predreg_cost_t dereg;
    int      reg_known;     /**< Whether that was measured */
    int      dereg_known;
    int      by_first_uses; /**< Whether that was measured by first uses of
                                 memory, under leave-pinned */
    double   average[PREDREG_REPLAY_LAST]; /**< For each policy, bytes */
    uint64_t peak[PREDREG_REPLAY_LAST];
} report_rank_t;

/** A line of meta data about the run. */
typedef struct report_meta {
    char *key;
    char *value; /**< Value in the rank that was added first */
    int  differs; /**< Whether some rank has another value */
} report_meta_t;

typedef struct predreg_report {
    predreg_findings_t findings;
    predreg_advice_t   advice;    /**< Made when the page is written */
    uint64_t           pool_sum;  /**< Sum over the ranks whose traces tell it,
                                       bytes */
    unsigned           num_pools; /**< How many ranks these are */
    double             use_bytes; /**< Sum of the lengths of all uses */
    uint64_t           num_uses;
    report_rank_t      *ranks;
    unsigned           num_ranks;
    report_meta_t      *metas;
    unsigned           num_metas;
    report_curves_t    curves;
    predreg_sites_t    *sites;
    predreg_sends_t    sends;
    predreg_gain_t     gain;      /**< Of the ranks that were played with an
                                       arena */
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

/** @return whether a bound on UCX's cache is worth showing: one that all ranks
 *  were played with, and that is below some rank's peak. */
int report_shows_bound(const report_data_t *report, unsigned index);

/** @return the value of a line of meta data in the rank that was added first,
 *  or NULL if there is none. */
const char *report_meta(const report_data_t *report, const char *key);

END_C_DECLS

#endif
