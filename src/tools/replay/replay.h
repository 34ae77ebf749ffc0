/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPLAY_H_
#define PREDREG_REPLAY_H_

#include <tools/replay/policies/policies.h>

BEGIN_C_DECLS

/** @file replay.h
 *
 * Plays a recorded program under another policy, on a virtual clock. The same
 * trace and parameters always give the same result, bit for bit.
 */

/** Set the default parameters of a policy: the defaults of the library's own
 *  knobs, and the costs of the timeline.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_replay_params_default(const predreg_timeline_t *timeline,
                                           predreg_replay_policy_t policy,
                                           predreg_replay_params_t *params);

/**
 * Play the policy of the parameters.
 *
 * @param [out] result  The caller has to clean it up if this returns UCS_OK.
 * @return UCS_ERR_INVALID_PARAM (logged, naming the value and what is
 *         accepted), UCS_ERR_NO_MEMORY, or UCS_ERR_UNSUPPORTED (logged) if
 *         playing the policy over this program would take longer than the
 *         parameters allow.
 */
ucs_status_t predreg_replay(const predreg_timeline_t *timeline,
                            const predreg_replay_params_t *params,
                            predreg_replay_result_t *result);

END_C_DECLS

#endif
