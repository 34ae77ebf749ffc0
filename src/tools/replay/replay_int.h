/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPLAY_INT_H_
#define PREDREG_REPLAY_INT_H_

#include "account.h"

BEGIN_C_DECLS

/** @file replay_int.h
 *
 * The policies, each in a file of its own. All are called by predreg_replay(),
 * which has checked the parameters and cleared the result, and sets its policy.
 * If they fail, there is nothing in it to clean up.
 */

/** sim.c: predict and on-demand, by the library's own code. */
ucs_status_t predreg_replay_cache(const predreg_timeline_t *timeline,
                                  const predreg_replay_params_t *params,
                                  predreg_replay_result_t *result);

/** Likewise, with the statistics of the cache. */
ucs_status_t predreg_replay_cache_stats(const predreg_timeline_t *timeline,
                                        const predreg_replay_params_t *params,
                                        predreg_replay_result_t *result,
                                        ucs_rcache_pred_stats_t *stats);

/** models.c: leave-pinned, lru and regions. */
ucs_status_t predreg_replay_pinned(const predreg_timeline_t *timeline,
                                   const predreg_replay_params_t *params,
                                   predreg_replay_result_t *result);

/** periodicity.c */
ucs_status_t predreg_replay_periodicity(const predreg_timeline_t *timeline,
                                        const predreg_replay_params_t *params,
                                        predreg_replay_result_t *result);

/** clairvoyant.c */
ucs_status_t predreg_replay_clairvoyant(const predreg_timeline_t *timeline,
                                        const predreg_replay_params_t *params,
                                        predreg_replay_result_t *result);

END_C_DECLS

#endif
