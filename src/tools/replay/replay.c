/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "replay.h"

#include <uct/ib/predreg/core/knobs.h>

#include <ucs/debug/log_def.h>

#include <math.h>
#include <string.h>

/* How long the helper's thread takes to run after it was woken or its time has
 * come, ns. The cache assumes the same before it has measured it */
#define WAKEUP 50000

/* How many steps clairvoyant may take: half a minute on a slow machine. Only
 * programs with very many different ranges that overlap take so many */
#define MAX_STEPS (1ul << 28)

/* The time that all operations of a program may take together, ns: 73 years.
 * With this limit the times of a replay, and the differences between them, fit
 * into 64 bits. */
#define MAX_TIME (INT64_MAX / 4)


ucs_status_t predreg_replay_params_default(const predreg_timeline_t *timeline,
                                           predreg_replay_policy_t policy,
                                           predreg_replay_params_t *params)
{
    uct_predreg_knobs_t knobs;
    ucs_status_t status;

    status = uct_predreg_knobs_default(&knobs);
    if (status != UCS_OK) {
        return status;
    }

    *params = (predreg_replay_params_t){
        .policy      = policy,
        .arena_slab  = UCT_PREDREG_SLAB,
        .arena_first = UCT_PREDREG_FIRST_SLAB,
        .reg         = timeline->reg,
        .dereg       = timeline->dereg,
        .wakeup      = WAKEUP,
        .max_steps   = MAX_STEPS
    };
    uct_predreg_knobs_to_params(&knobs, &params->cache);
    uct_predreg_knobs_cleanup(&knobs);
    return UCS_OK;
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

/* Check that the costs of all operations do not add up to more than MAX_TIME.
 * Even costs that are in range may do so, if a trace has many or large uses */
static ucs_status_t total_check(const predreg_timeline_t *timeline,
                                const predreg_replay_params_t *params)
{
    uint64_t sum = 0;
    const predreg_use_t *use;

    for (use = timeline->uses; use < timeline->uses + timeline->num_uses;
         ++use) {
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
    if (status != UCS_OK) {
        return status;
    }

    status = total_check(timeline, params);
    if (status != UCS_OK) {
        return status;
    }

    memset(result, 0, sizeof(*result));
    result->policy = params->policy;
    result->budget = ((params->policy == PREDREG_REPLAY_PREDICT) ||
                      (params->policy == PREDREG_REPLAY_ARENA)) ?
                     params->cache.budget : INFINITY;
    return predreg_policies[params->policy].replay(timeline, params, result);
}
