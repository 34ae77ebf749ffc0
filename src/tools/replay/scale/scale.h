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
 * Computes the memory of a larger job from the few ranks that were recorded: if
 * n ranks were recorded, rank k of the job repeats what recorded rank k modulo
 * n did. Nodes are filled one after the other. docs/scaling.md says what can be
 * concluded from this, and what cannot.
 */

/** How the ranks lie in time. */
typedef enum {
    PREDREG_PHASE_RECORDED, /**< As they were recorded: all ranks communicate at
                                 the same time, the worst case for a node */
    PREDREG_PHASE_RANDOM,   /**< Each rank starts at another place of its run,
                                 and goes on from its begin when it comes to its
                                 end: the mildest case. The places are the same
                                 each time */
    PREDREG_PHASE_LAST
} predreg_phase_t;

extern const char *predreg_phase_names[];


typedef struct predreg_scale_params {
    unsigned        num_ranks;      /**< >= 1 */
    unsigned        ranks_per_node; /**< >= 1 */
    unsigned        cores_per_node; /**< >= ranks_per_node. Helpers share the
                                         cores that have no rank; 0: each helper
                                         has a core */
    uint64_t        node_max;       /**< Bytes that a node can register;
                                         UINT64_MAX: no limit */
    predreg_phase_t phase;
} predreg_scale_params_t;

/** What a larger job comes to. Averages are over time and nodes. */
typedef struct predreg_scale {
    unsigned num_nodes;
    double   node_avg_bytes;
    uint64_t node_peak_bytes; /**< Peak of any node */
    double   job_avg_bytes;   /**< Average of all nodes together */
    uint64_t job_peak_bytes;  /**< Sum of the peaks of the nodes, which they
                                   must be able to register */
    double   above;           /**< Part of the time in which a node is above
                                   node_max */
    double   above_avg_bytes; /**< By how much a node is above it then */
    unsigned idle_cores;      /**< Cores of a node that have no rank; its
                                   helpers share them */
    double   helper_cores;    /**< How many of them are busy on average */
    uint64_t helper_regs;     /**< How many registrations the helpers make */
    uint64_t delayed_regs;    /**< How many of them begin later than if each
                                   helper had a core */
    double   delay_avg;       /**< How much later they begin, ns */
    uint64_t delay_max;
} predreg_scale_t;


/**
 * @param [in]  results  Results of one policy, one for each recorded rank.
 * @param [in]  offsets  By how much later each recorded rank lies in time, >=
 *                       0, ns.
 * @return UCS_ERR_INVALID_PARAM (logged, naming the value) or
 *         UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_scale(const predreg_replay_result_t *results,
                           const int64_t *offsets, size_t num_results,
                           const predreg_scale_params_t *params,
                           predreg_scale_t *scale);

END_C_DECLS

#endif
