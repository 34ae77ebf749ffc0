/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "budgets.h"
#include "replay.h"

#include <math.h>
#include <stdio.h>

/* Budgets that differ by less are the same: percent was divided by 100 to get
 * a part, which is not always exact */
#define SAME_RATE 1e-9


static int is_same_rate(double a, double b)
{
    return (a == b) || (fabs(a - b) < SAME_RATE); /* Both may be INFINITY */
}

void predreg_budgets_list(double usual, predreg_budgets_t *budgets)
{
    static const double percents[] = {0, 0.2, 0.5, 1, 2, 5, INFINITY};
    int is_listed                  = 0;
    double rate;
    unsigned i;

    budgets->num   = 0;
    budgets->usual = 0;
    for (i = 0; i < ucs_static_array_size(percents); ++i) {
        rate = percents[i] / 100;
        if (!is_listed && (is_same_rate(usual, rate) || (usual < rate))) {
            is_listed                     = 1;
            budgets->usual                = budgets->num;
            budgets->rates[budgets->num++] = usual;
        }
        if (!is_same_rate(usual, rate)) {
            budgets->rates[budgets->num++] = rate;
        }
    }
}

char *predreg_budget_name(double rate, char *buf)
{
    if (isinf(rate)) {
        snprintf(buf, PREDREG_BUDGET_NAME_MAX, "inf");
    } else {
        snprintf(buf, PREDREG_BUDGET_NAME_MAX, "%.6g", 100 * rate);
    }
    return buf;
}

/* Whether a setting costs nothing that anybody would notice */
static int is_in_time(const predreg_budget_point_t *point,
                      const predreg_budget_point_t *pinned)
{
    return point->time <= (1 + PREDREG_COSTS_PART) * pinned->time;
}

unsigned predreg_budgets_choose(const predreg_budgets_t *budgets,
                                const predreg_budget_point_t *points,
                                const predreg_budget_point_t *pinned)
{
    double least    = INFINITY;
    unsigned chosen = budgets->num;
    unsigned i;

    for (i = 0; i < budgets->num; ++i) {
        if (is_in_time(&points[i], pinned) && (points[i].memory < least)) {
            least = points[i].memory;
        }
    }

    if (!(least < (1 - PREDREG_SAME_MEMORY_PART) * pinned->memory)) {
        return budgets->num;
    }

    for (i = budgets->num; i-- > 0;) {
        if (is_in_time(&points[i], pinned) &&
            (points[i].memory <= (1 + PREDREG_SAME_MEMORY_PART) * least) &&
            (chosen != budgets->usual)) {
            chosen = i;
        }
    }

    return chosen;
}

ucs_status_t predreg_budgets_play(const predreg_timeline_t *timeline,
                                  const predreg_replay_params_t *params,
                                  double rate, predreg_replay_result_t *result)
{
    predreg_replay_params_t changed = *params;

    changed.cache.budget = rate;
    return predreg_replay(timeline, &changed, result);
}
