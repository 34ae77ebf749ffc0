/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "curve.h"
#include "output.h"

#include <stdio.h>


static predreg_budget_point_t
point_of(const predreg_job_t *job, const predreg_replay_result_t *results)
{
    const predreg_replay_result_t *total = &results[job->num_ranks];

    return (predreg_budget_point_t){
        .memory = total->pinned_avg_bytes,
        .time   = total->duration
    };
}

/* @return the index of the budget to use, or the number of budgets. */
static unsigned choose(const predreg_job_t *job,
                       const predreg_budgets_t *budgets)
{
    predreg_budget_point_t points[PREDREG_BUDGETS_MAX], pinned;
    unsigned i;

    pinned = point_of(job, job->results[PREDREG_REPLAY_LEAVE_PINNED]);
    for (i = 0; i < budgets->num; ++i) {
        points[i] = point_of(job, predreg_job_budget_results(job, budgets, i));
    }

    return predreg_budgets_choose(budgets, points, &pinned);
}

void predreg_replay_print_curve(const predreg_job_t *job,
                                const predreg_replay_opts_t *opts)
{
    const predreg_budgets_t *budgets = &opts->budgets;
    unsigned chosen                  = choose(job, budgets);
    char name[PREDREG_BUDGET_NAME_MAX], label[32], more[32];
    unsigned i;

    for (i = 0; i < budgets->num; ++i) {
        snprintf(label, sizeof(label), "predict %s",
                 predreg_budget_name(budgets->rates[i], name));
        snprintf(more, sizeof(more), ",\"recommended\":%s",
                 (i == chosen) ? "true" : "false");
        predreg_replay_print_results(job, opts, label, more,
                                     predreg_job_budget_results(job, budgets,
                                                                i));
    }
}

void predreg_replay_print_advice(const predreg_job_t *job,
                                 const predreg_replay_opts_t *opts)
{
    unsigned chosen = choose(job, &opts->budgets);
    char name[PREDREG_BUDGET_NAME_MAX];

    if (chosen == opts->budgets.num) {
        printf("\nno budget saves memory within %g %% of leave-pinned's run "
               "time\n", 100 * PREDREG_COSTS_PART);
    } else {
        printf("\nleast memory within %g %% of leave-pinned's run time:\n"
               "  ucx_predreg run --set BUDGET=%s -- COMMAND\n",
               100 * PREDREG_COSTS_PART,
               predreg_budget_name(opts->budgets.rates[chosen], name));
    }
}
