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
 * Plays UCX's own registration cache, with or without a limit. The policies
 * leave-pinned, lru and regions call this.
 */

typedef struct predreg_ucx_cache_params {
    predreg_cost_t reg;
    predreg_cost_t dereg;
    uint64_t       max_bytes;   /**< Limit of the bytes of all regions, idle and
                                     used, of a cache; UINT64_MAX: none. Each
                                     domain has a cache of its own */
    uint64_t       max_regions; /**< Likewise, of the number of regions */
} predreg_ucx_cache_params_t;

/** The most that any one of the caches had at a time. */
typedef struct predreg_ucx_cache_peaks {
    uint64_t bytes;   /**< Bytes of the pages of its regions */
    uint64_t regions;
} predreg_ucx_cache_peaks_t;


/**
 * Play the caches over a program.
 *
 * @param [out] result  The result, without its policy and limit.
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_ucx_cache_replay(const predreg_timeline_t *timeline,
                                      const predreg_ucx_cache_params_t *params,
                                      predreg_replay_result_t *result,
                                      predreg_ucx_cache_peaks_t *peaks);

/**
 * Replace each limit that is 0 by half of what a cache has at most if there is
 * no limit, and by 1 at least.
 *
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_ucx_cache_set_limits(const predreg_timeline_t *timeline,
                                          predreg_ucx_cache_params_t *params);

END_C_DECLS

#endif
