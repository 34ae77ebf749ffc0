/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_BOUNDS_H_
#define PREDREG_BOUNDS_H_

#include "outcome.h"

BEGIN_C_DECLS

/** @file bounds.h
 *
 * The bounds on UCX's own cache that a report tries. They are the same numbers
 * of bytes for all ranks, since a job has one setting: 2 MiB, 3 MiB, 4 MiB, 6
 * MiB, and so on. Of each rank the largest ones are played that are below its
 * peak. Smaller ones are not known, and larger ones are no bound to it.
 */

/** How many bounds there are, from 2 MiB to 6 PiB. */
#define PREDREG_NUM_BOUNDS 64
/** How many bounds are played of a rank: with 8 of them the smallest is a
 *  sixteenth to an eighth of its peak. */
#define PREDREG_MAX_TRIED  8


/** @return the bytes of a bound. */
uint64_t predreg_bound_bytes(unsigned index);

/**
 * List the bounds to play of a rank.
 *
 * @param [in]  peak    What the rank has registered at most under
 *                      leave-pinned, bytes.
 * @param [out] limits  Room for PREDREG_MAX_TRIED. The largest comes first.
 * @return how many these are.
 */
unsigned predreg_bounds_to_try(uint64_t peak, uint64_t *limits);

/**
 * Add a rank to the outcomes of all bounds that are known of it.
 *
 * @param [in,out] outcomes  By bound, PREDREG_NUM_BOUNDS of them. One of which
 *                           not all ranks are known has fewer ranks than the
 *                           job.
 * @param [in]     pinned    Result under leave-pinned, and thus with all bounds
 *                           that are not below its peak.
 * @param [in]     tried     Results with bounds below that, in any order.
 */
void predreg_bounds_add(predreg_outcome_t *outcomes,
                        const predreg_replay_result_t *pinned,
                        const predreg_replay_result_t *tried,
                        unsigned num_tried);

END_C_DECLS

#endif
