/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPLAY_OUTPUT_H_
#define PREDREG_REPLAY_OUTPUT_H_

#include "job.h"

#include <tools/replay/replay.h>

BEGIN_C_DECLS

/** @file output.h Prints the output of `ucx_predreg replay`. */

/** Stands for all ranks, in place of the number of a rank. */
#define PREDREG_ALL_RANKS (-1)


/** Print a result as a JSON object on a line.
 *  @param [in] damage  What is missing in the traces of the result.
 *  @param [in] rank    Number of the rank, or PREDREG_ALL_RANKS. */
void predreg_replay_print_json(const predreg_replay_result_t *result,
                               const predreg_damage_t *damage, size_t num_ranks,
                               long rank);

/** Print what is missing in traces, as further fields of a JSON object. */
void predreg_replay_print_damage(const predreg_damage_t *damage);

/** Print the head of the table. */
void predreg_replay_print_head(void);

/** Print a result as a row of the table. */
void predreg_replay_print_row(const predreg_replay_result_t *result, long rank);

/** Print in words what predict registers beyond clairvoyant. */
void predreg_replay_print_excess(const predreg_replay_result_t *predict,
                                 const predreg_replay_result_t *clairvoyant);

END_C_DECLS

#endif
