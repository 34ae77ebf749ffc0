/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_SCALE_H_
#define PREDREG_SCALE_H_

#include <tools/replay/account/account.h>
#include <tools/trace/trace.h>

BEGIN_C_DECLS

/** @file scale.h
 *
 * Puts the separately replayed ranks of a job together (ranks.c), and computes the memory
 * of a larger job from a few recorded ranks (scale.c): of n recorded ranks, rank k of the
 * larger job repeats recorded rank k modulo n. Ranks fill one node after the other.
 * docs/scaling.md has the conclusions that this model allows.
 */

/** The time of a rank's first event. */
typedef struct predreg_rank_start {
    int      known;
    uint64_t time;  /**< ns since 1970 */
} predreg_rank_start_t;

/** Compute the time of a rank's first event from the clocks in its trace. */
predreg_rank_start_t predreg_rank_start(const ucs_rcache_trace_t *trace);

/**
 * Find how much later than the earliest rank each rank has its first event, ns. All
 * offsets are 0 if the start of a rank is not known, or if the first events are years
 * apart.
 *
 * @return whether the offsets are known.
 */
int predreg_ranks_align(const predreg_rank_start_t *starts, size_t num_ranks,
                        int64_t *offsets);

/**
 * Sum up the numbers, the byte-seconds and the curves of all ranks. The curves are
 * shifted by the offsets. The duration is that of the longest rank. The average of the
 * memory is taken from the start of the first rank to the end of the last one; if two
 * jobs ran one after the other, this is longer than the duration. The sum has no call
 * sites, since addresses differ between processes. The caller cleans it up.
 *
 * @param [in] results  Results of one policy, one for each rank.
 */
void predreg_ranks_total(const predreg_replay_result_t *results,
                         const int64_t *offsets, size_t num_ranks,
                         predreg_replay_result_t *total);


/** Where in its run each rank is at the same time. */
typedef enum {
    PREDREG_PHASE_RECORDED, /**< As recorded: all ranks communicate at the same
                                 time, the worst case for a node */
    PREDREG_PHASE_RANDOM,   /**< Each rank starts at another place of its run, and
                                 after the end goes on from the begin: the mildest
                                 case. In each call a rank has the same place */
    PREDREG_PHASE_LAST
} predreg_phase_t;

/** Names of the phases, indexed by predreg_phase_t. */
extern const char *predreg_phase_names[];


typedef struct predreg_scale_params {
    unsigned        num_ranks;      /**< >= 1 */
    unsigned        ranks_per_node; /**< >= 1 */
    unsigned        cores_per_node; /**< >= ranks_per_node. Helpers share the
                                         cores without a rank; 0: each helper
                                         has a core */
    uint64_t        node_max;       /**< Bytes that a node can register;
                                         UINT64_MAX: no limit */
    predreg_phase_t phase;
} predreg_scale_params_t;

/** The numbers of a larger job. Averages are over time and nodes. */
typedef struct predreg_scale {
    unsigned num_nodes;
    double   node_avg_bytes;
    uint64_t node_peak_bytes; /**< Largest peak of a node */
    double   job_avg_bytes;   /**< Average of all nodes together */
    uint64_t job_peak_bytes;  /**< Sum of the peaks of the nodes: each node must
                                   be able to register its peak */
    double   above;           /**< Part of the time for which a node is above node_max */
    double   above_avg_bytes; /**< Average bytes above node_max during this part */
    unsigned idle_cores;      /**< Cores of a node without a rank, for its
                                   helpers */
    double   helper_cores;    /**< Average number of cores that the helpers keep busy */
    uint64_t helper_regs;     /**< Registrations by helpers */
    uint64_t delayed_regs;    /**< Number of registrations by helpers that begin later
                                   than they would with a core for each helper */
    double   delay_avg;       /**< Average delay of a registration, ns */
    uint64_t delay_max;
} predreg_scale_t;


/**
 * @param [in]  results  Results of one policy, one for each recorded rank.
 * @param [in]  offsets  Delay of each recorded rank, >= 0, ns.
 * @return UCS_ERR_INVALID_PARAM, logged, naming the value.
 */
ucs_status_t predreg_scale(const predreg_replay_result_t *results,
                           const int64_t *offsets, size_t num_results,
                           const predreg_scale_params_t *params,
                           predreg_scale_t *scale);

END_C_DECLS

#endif
