/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "replay.h"

#include <uct/ib/predreg/core/knobs.h>

#include <ucs/debug/log_def.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* How long it takes until the helper's thread runs after a wake, or after its due time,
 * ns. The cache assumes the same time until its first measurement */
#define WAKEUP 50000

/* The most steps of clairvoyant, which take half a minute on a slow machine. Only
 * programs with very many different overlapping ranges need more */
#define MAX_STEPS (1ul << 28)

/* The limit of the sum of the times of all operations of a program, ns: 73 years. With
 * this limit, times of a replay and differences between them fit into 64 bits. */
#define MAX_TIME (INT64_MAX / 4)

/* Two budgets with a smaller difference count as equal: a budget is a part of the run
 * time, computed from percent by a division, and is not always exact */
#define SAME_RATE 1e-9


void predreg_replay_params_default(const predreg_timeline_t *timeline,
                                   predreg_replay_policy_t policy,
                                   predreg_replay_params_t *params)
{
    uct_predreg_knobs_t knobs;

    if (uct_predreg_knobs_default(&knobs) != UCS_OK) {
        predreg_no_memory(); /* The default values are in the accepted ranges, so only
                                memory can be missing */
    }

    *params = (predreg_replay_params_t){
        .policy     = policy,
        .arena_slab = UCT_PREDREG_SLAB,
        .reg        = timeline->reg,
        .dereg      = timeline->dereg,
        .wakeup     = WAKEUP,
        .max_steps  = MAX_STEPS
    };
    uct_predreg_knobs_to_params(&knobs, &params->cache);
    uct_predreg_knobs_cleanup(&knobs);
}

static ucs_status_t cost_check(const char *name, const predreg_cost_t *cost)
{
    if (predreg_replay_cost_is_valid(cost)) {
        return UCS_OK;
    }

    ucs_error("%s at %g ns, and %g ns a page, is out of range: "
              "expected 0 to %g each", name, cost->op, cost->page,
              PREDREG_REPLAY_MAX_COST);
    return UCS_ERR_INVALID_PARAM;
}

static ucs_status_t params_check(const predreg_replay_params_t *params)
{
    ucs_status_t status;

    if ((unsigned)params->policy >= PREDREG_REPLAY_LAST) {
        ucs_error("policy %d is out of range: expected 0..%d", params->policy,
                  PREDREG_REPLAY_LAST - 1);
        return UCS_ERR_INVALID_PARAM;
    }

    if (params->wakeup > (uint64_t)PREDREG_REPLAY_MAX_COST) {
        ucs_error("a helper that wakes after %lu ns is out of range: expected "
                  "0 to %g", params->wakeup, PREDREG_REPLAY_MAX_COST);
        return UCS_ERR_INVALID_PARAM;
    }

    status = cost_check("registration", &params->reg);
    return (status == UCS_OK) ? cost_check("deregistration", &params->dereg) :
                                status;
}

/* Check that the times of all operations add up to MAX_TIME at most. Even if the cost of
 * each operation is in range, many or large uses may add up to more */
static ucs_status_t total_check(const predreg_timeline_t *timeline,
                                const predreg_replay_params_t *params)
{
    uint64_t sum = 0;
    const predreg_use_t *use;

    predreg_for_each(use, timeline->uses, timeline->num_uses) {
        sum += predreg_cost_of(&params->reg, use->address, use->length) +
               predreg_cost_of(&params->dereg, use->address, use->length);
        if (sum > MAX_TIME) {
            ucs_error("to register and deregister for each use would take more "
                      "than %g ns, at use %zu of %lu bytes: expected are lower "
                      "costs than %g ns a page, or a trace of smaller uses",
                      (double)MAX_TIME, use - timeline->uses + 1, use->length,
                      params->reg.page + params->dereg.page);
            return UCS_ERR_INVALID_PARAM;
        }
    }

    return UCS_OK;
}

ucs_status_t predreg_replay(const predreg_timeline_t *timeline,
                            const predreg_replay_params_t *params,
                            predreg_replay_result_t *result)
{
    ucs_status_t status;

    status = params_check(params);
    if (status == UCS_OK) {
        status = total_check(timeline, params);
    }
    if (status != UCS_OK) {
        return status;
    }

    memset(result, 0, sizeof(*result));
    result->policy = params->policy;
    result->budget = INFINITY;
    status = predreg_policies[params->policy].replay(timeline, params, result);
    if (status == UCS_ERR_NO_MEMORY) {
        predreg_no_memory(); /* The cache of the library has found no memory */
    }

    return status;
}

static int is_same_rate(double a, double b)
{
    return (a == b) || (fabs(a - b) < SAME_RATE); /* a == b is for two rates that
                                                     are INFINITY */
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

/* Whether a setting takes at most PREDREG_COSTS_PART more time than leave-pinned, which
 * nobody would notice */
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
