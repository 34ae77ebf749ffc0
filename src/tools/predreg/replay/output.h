/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPLAY_OUTPUT_H_
#define PREDREG_REPLAY_OUTPUT_H_

#include "job.h"

#include <tools/replay/gain.h>
#include <tools/replay/replay.h>

BEGIN_C_DECLS

/** @file output.h Prints the output of `ucx_predreg replay`. */


/**
 * Print the results of a policy, or of predict with a budget: of all ranks
 * together and, if the options say so, of each.
 *
 * @param [in] label    What it is called in the table.
 * @param [in] more     Further fields for JSON, as in ",\"name\":1", or "".
 * @param [in] results  Of each rank, and then of all.
 */
void predreg_replay_print_results(const predreg_job_t *job,
                                  const predreg_replay_opts_t *opts,
                                  const char *label, const char *more,
                                  const predreg_replay_result_t *results);

/** Print what is missing in traces, as further fields of a JSON object. */
void predreg_replay_print_damage(const predreg_damage_t *damage);

/** Print the head of the table. */
void predreg_replay_print_head(void);

/** Print in words how many uses find that predict has forgotten their buffer,
 *  if there are any. */
void predreg_replay_print_forgotten(const predreg_replay_result_t *result);

/** Print in words what predict registers beyond clairvoyant. */
void predreg_replay_print_excess(const predreg_replay_result_t *predict,
                                 const predreg_replay_result_t *clairvoyant);

/** Print what an arena would change: a JSON object on a line, or sentences.
 *  Nothing if the program has no mappings for it. */
void predreg_replay_print_gain(const predreg_gain_t *gain, int is_json);

/** Print what small sends there are, and what it would save to send them
 *  without the copy: a JSON object on a line, or sentences. Nothing if there
 *  are none. */
void predreg_replay_print_sends(const predreg_sends_t *sends, int is_json);

END_C_DECLS

#endif
