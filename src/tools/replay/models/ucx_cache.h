/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_UCX_CACHE_H_
#define PREDREG_UCX_CACHE_H_

#include <tools/replay/account/result.h>
#include <tools/replay/program/timeline.h>

BEGIN_C_DECLS

/** @file ucx_cache.h
 *
 * UCX's own registration cache, with or without a limit. Called by the policies
 * leave-pinned, lru and regions.
 */

typedef struct predreg_ucx_cache_params {
    predreg_cost_t reg;
    predreg_cost_t dereg;
    uint64_t       max_bytes;   /**< Of idle and used regions of all domains
                                     together; UINT64_MAX: no limit */
    uint64_t       max_regions; /**< Likewise, their number */
} predreg_ucx_cache_params_t;


/**
 * Play the cache over a program.
 *
 * @param [out] result          All but its policy and limit.
 * @param [out] peak_regions_p  The most regions there were at a time.
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_ucx_cache_replay(const predreg_timeline_t *timeline,
                                      const predreg_ucx_cache_params_t *params,
                                      predreg_replay_result_t *result,
                                      uint64_t *peak_regions_p);

/**
 * What the cache has at most, in bytes and regions, if there is no limit. The
 * limits of the parameters are not looked at.
 *
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_ucx_cache_peaks(const predreg_timeline_t *timeline,
                                     const predreg_ucx_cache_params_t *params,
                                     uint64_t *bytes_p, uint64_t *regions_p);

END_C_DECLS

#endif
