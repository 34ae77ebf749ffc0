/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_SCALE_H_
#define PREDREG_SCALE_H_

#include <tools/replay/account/result.h>

BEGIN_C_DECLS

/** @file scale.h
 *
 * A larger job, made of the few ranks that were recorded: of n recorded ranks,
 * rank k repeats what recorded rank k modulo n did. Nodes are filled one after
 * the other. docs/scaling.md says what this tells, and what it does not.
 */

/** How the ranks lie in time. */
typedef enum {
    PREDREG_PHASE_RECORDED, /**< As they were recorded: all communicate at the
                                 same time, the worst case for a node */
    PREDREG_PHASE_RANDOM,   /**< Each somewhere else in its run, which begins
                                 again where it ends: the mildest. Always the
                                 same places */
    PREDREG_PHASE_LAST
} predreg_phase_t;

extern const char *predreg_phase_names[];


typedef struct predreg_scale_params {
    unsigned        num_ranks;      /**< >= 1 */
    unsigned        ranks_per_node; /**< >= 1 */
    unsigned        cores_per_node; /**< >= ranks_per_node, whose helpers share
                                         the others; 0: each has its own */
    uint64_t        node_max;       /**< Bytes; UINT64_MAX: no limit */
    predreg_phase_t phase;
} predreg_scale_params_t;

/** Averages are over time and nodes. */
typedef struct predreg_scale {
    unsigned num_nodes;
    double   node_avg_bytes;
    uint64_t node_peak_bytes; /**< Of any node */
    double   job_avg_bytes;   /**< Of all nodes together */
    uint64_t job_peak_bytes;  /**< Sum of the peaks of the nodes: what they must
                                   be able to register */
    double   above;           /**< Part of the time nodes are above node_max */
    double   above_avg_bytes; /**< By how much they are above it then */
    unsigned idle_cores;      /**< Of a node: those that helpers share */
    double   helper_cores;    /**< So many are busy in a node */
    uint64_t helper_regs;     /**< Registrations that helpers make */
    uint64_t delayed_regs;    /**< That begin later than with a core each */
    double   delay_avg;       /**< How much later they begin, ns */
    uint64_t delay_max;
} predreg_scale_t;


/**
 * @param [in]  results  Of one policy, by recorded rank.
 * @param [in]  offsets  Of their times, >= 0, ns.
 * @return UCS_ERR_INVALID_PARAM (logged, naming the value) or
 *         UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_scale(const predreg_replay_result_t *results,
                           const int64_t *offsets, size_t num_results,
                           const predreg_scale_params_t *params,
                           predreg_scale_t *scale);

END_C_DECLS

#endif
