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

/** @file output.h  What `ucx_predreg replay` prints. */

/** A rank that stands for all of them. */
#define PREDREG_ALL_RANKS (-1)


/** One JSON object on a line.
 *  @param [in] damage  Of the traces it is the result of.
 *  @param [in] rank    Or PREDREG_ALL_RANKS. */
void predreg_replay_print_json(const predreg_replay_result_t *result,
                               const predreg_damage_t *damage, size_t num_ranks,
                               long rank);

/** Further fields of a JSON object. */
void predreg_replay_print_damage(const predreg_damage_t *damage);

/** Head of the table. */
void predreg_replay_print_head(void);

/** A row of the table. */
void predreg_replay_print_row(const predreg_replay_result_t *result, long rank);

/** In words: what predict registers beyond clairvoyant. */
void predreg_replay_print_excess(const predreg_replay_result_t *predict,
                                 const predreg_replay_result_t *clairvoyant);

END_C_DECLS

#endif
