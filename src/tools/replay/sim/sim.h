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
 * Plays a program that uses this library's own cache in a world of virtual
 * time. The policies predict, on-demand and arena call this, and tests do.
 */

typedef struct predreg_sim_params {
    predreg_cost_t           reg;
    predreg_cost_t           dereg;
    uint64_t                 wakeup; /**< How long the helper takes to wake up,
                                          ns */
    ucs_rcache_pred_params_t cache;  /**< Parameters of the cache. ops, arg and
                                          node are ignored. The sink, if there
                                          is one, gets the cache's events, whose
                                          clock is ahead of the program's */
    int                      shared; /**< Not 0: the helper has no processor of
                                          its own; while it runs, the program
                                          does not. If it is conservative, the
                                          program does its work */
    size_t                   arena;  /**< Large mappings come from an arena of
                                          this size, bytes; 0: there is none */
    size_t                   arena_slab; /**< Of its longest slab, a power of 2,
                                              bytes */
    size_t                   arena_first; /**< Of its shortest one, likewise */
} predreg_sim_params_t;


/**
 * Play the cache over a program.
 *
 * @param [out] result  The result, without its policy. Its limit is how much
 *                      memory the arena had at a time, at most.
 * @param [out] stats   Statistics of the cache when the program has ended.
 * @return UCS_ERR_NO_MEMORY, or the error that the cache returns for its
 *         parameters.
 */
ucs_status_t predreg_sim_replay(const predreg_timeline_t *timeline,
                                const predreg_sim_params_t *params,
                                predreg_replay_result_t *result,
                                ucs_rcache_pred_stats_t *stats);

END_C_DECLS

#endif
