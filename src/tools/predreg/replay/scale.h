/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPLAY_SCALE_H_
#define PREDREG_REPLAY_SCALE_H_

#include "job.h"

BEGIN_C_DECLS

/** @file scale.h Carries out `ucx_predreg replay --ranks`, which computes a
 *  larger job. */

/**
 * Print what the nodes of a larger job would register.
 *
 * @param [in]  results  For each policy, the results of the ranks that were
 *                       recorded; NULL: the policy was not replayed.
 */
ucs_status_t predreg_replay_scale(const predreg_job_t *job,
                                  const predreg_replay_opts_t *opts,
                                  predreg_replay_result_t *const *results);

END_C_DECLS

#endif
