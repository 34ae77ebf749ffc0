/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPLAY_PARAMS_H_
#define PREDREG_REPLAY_PARAMS_H_

#include "opts.h"

#include <tools/replay/program/timeline.h>

BEGIN_C_DECLS

/** @file params.h
 *
 * Turns the options of `ucx_predreg replay` into the parameters of a replay.
 * load.c calls this.
 */

/**
 * Get the parameters of a replay of a rank under a policy: what the options
 * say, and for all else the default.
 *
 * @return the status of @ref predreg_replay_params_default.
 */
ucs_status_t predreg_replay_opts_params(const predreg_replay_opts_t *opts,
                                        const predreg_timeline_t *timeline,
                                        predreg_replay_policy_t policy,
                                        predreg_replay_params_t *params);

END_C_DECLS

#endif
