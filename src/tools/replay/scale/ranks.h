/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_RANKS_H_
#define PREDREG_RANKS_H_

#include <tools/replay/account/result.h>
#include <trace/trace.h>

BEGIN_C_DECLS

/** @file ranks.h
 *
 * The ranks of a job together, each of which is replayed by itself.
 */

/**
 * When the first event of each rank was, after that of the first of them, ns:
 * by the clocks that the traces tell of. All 0 if one of them does not, or they
 * are years apart.
 *
 * @return whether the clocks are known.
 */
int predreg_ranks_align(ucs_rcache_trace_t *const *traces, size_t num_ranks,
                        int64_t *offsets);

/**
 * Counters and byte-seconds are summed up, and the curves as they lie in time;
 * the duration is the longest. There are no sites: each process has other
 * addresses. To be cleaned up.
 *
 * @param [in] results  Of one policy, by rank.
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_ranks_total(const predreg_replay_result_t *results,
                                 const int64_t *offsets, size_t num_ranks,
                                 predreg_replay_result_t *total);

END_C_DECLS

#endif
