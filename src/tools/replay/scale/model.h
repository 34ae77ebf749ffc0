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
 * rank of the job repeats, and when. Called by scale.c and by what looks at a
 * node.
 */

/** The larger job, as it is added up node by node. */
typedef struct scale_model {
    const predreg_replay_result_t *results;   /**< By recorded rank */
    const int64_t                 *offsets;   /**< Likewise, ns */
    size_t                        num_results;
    const predreg_scale_params_t  *params;
    predreg_scale_t               *scale;     /**< What it comes to */
    int64_t                       duration;   /**< Of the job, ns */
    double                        above;      /**< How long nodes are above
                                                   node_max: nodes times ns */
    double                        above_byte_ns; /**< By how much */
    double                        busy;       /**< Time of all helpers, ns */
    double                        delay;      /**< By which registrations begin
                                                   later, ns */
} scale_model_t;


/** @return what a rank of the job does. */
const predreg_replay_result_t *scale_rank_result(const scale_model_t *model,
                                                 unsigned rank);

/** @return how much later a rank of the job does everything than it was
 *          recorded, ns. */
int64_t scale_rank_shift(const scale_model_t *model, unsigned rank);

/** @return whether what is beyond the end of the job comes at its begin. */
int scale_is_ring(const scale_model_t *model);

/** @return when something happens in the job, ns, by its time in the rank and
 *          by the shift of that. */
int64_t scale_time(const scale_model_t *model, int64_t time, int64_t shift);

END_C_DECLS

#endif
