/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_SIM_H_
#define PREDREG_SIM_H_

#include <tools/replay/account/result.h>
#include <tools/replay/program/timeline.h>

BEGIN_C_DECLS

/** @file sim.h
 *
 * A program uses this library's own cache in a world of virtual time. Called by
 * the policies predict and on-demand, and by tests.
 */

typedef struct predreg_sim_params {
    predreg_cost_t           reg;
    predreg_cost_t           dereg;
    uint64_t                 wakeup; /**< How long the helper takes to wake, ns */
    ucs_rcache_pred_params_t cache;  /**< ops, arg and node are not looked at.
                                          The sink, if there is one, is told
                                          what happens; its clock is ahead of
                                          the program's */
} predreg_sim_params_t;


/**
 * Play the cache over a program.
 *
 * @param [out] result  All but its policy and limit.
 * @param [out] stats   Statistics of the cache when the program has ended.
 * @return UCS_ERR_NO_MEMORY, or what the cache says of its parameters.
 */
ucs_status_t predreg_sim_replay(const predreg_timeline_t *timeline,
                                const predreg_sim_params_t *params,
                                predreg_replay_result_t *result,
                                ucs_rcache_pred_stats_t *stats);

END_C_DECLS

#endif
