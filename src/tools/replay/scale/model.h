/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_SCALE_MODEL_H_
#define PREDREG_SCALE_MODEL_H_

#include "scale.h"

BEGIN_C_DECLS

/** @file model.h
 *
 * How a larger job is made of the ranks that were recorded: which of them a
 * rank of the job repeats, and when. scale.c and the two files of node.h call
 * these functions.
 */

/** The larger job, as it is added up node by node. */
typedef struct scale_model {
    const predreg_replay_result_t *results;   /**< One for each recorded rank */
    const int64_t                 *offsets;   /**< Of each recorded rank, ns */
    size_t                        num_results;
    const predreg_scale_params_t  *params;
    predreg_scale_t               *scale;     /**< The result */
    int64_t                       duration;   /**< Duration of the job, ns */
    double                        above;      /**< How long nodes are above
                                                   node_max: nodes times ns */
    double                        above_byte_ns; /**< By how many bytes they are
                                                      above it, over time */
    double                        busy;       /**< How long all helpers are
                                                   busy, ns */
    double                        delay;      /**< By how much later
                                                   registrations begin, added
                                                   up, ns */
} scale_model_t;


/** @return the result of the recorded rank that a rank of the job repeats. */
const predreg_replay_result_t *scale_rank_result(const scale_model_t *model,
                                                 unsigned rank);

/** @return how much later than recorded a rank of the job does everything,
 *  ns. */
int64_t scale_rank_shift(const scale_model_t *model, unsigned rank);

/** @return whether events beyond the end of the job come at its begin
 *  instead. */
int scale_is_ring(const scale_model_t *model);

/** @return when an event happens in the job, ns, given its time in the rank and
 *  the shift of that rank. */
int64_t scale_time(const scale_model_t *model, int64_t time, int64_t shift);

END_C_DECLS

#endif
