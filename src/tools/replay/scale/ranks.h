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
 * All ranks of a job together, after each has been replayed by itself.
 */

/**
 * How much later than the earliest rank each rank had its first event, ns.
 * Traces tell of the clocks that this is known from; if one does not, or they
 * are years apart, all offsets are 0.
 *
 * @return whether the clocks are known.
 */
int predreg_ranks_align(ucs_rcache_trace_t *const *traces, size_t num_ranks,
                        int64_t *offsets);

/**
 * Sum up the counters, byte-seconds and, as they lie in time, the curves of all
 * ranks; the duration is the longest one. The sum has no call sites, since
 * addresses differ from process to process. It has to be cleaned up.
 *
 * @param [in] results  Of one policy, by rank.
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_ranks_total(const predreg_replay_result_t *results,
                                 const int64_t *offsets, size_t num_ranks,
                                 predreg_replay_result_t *total);

END_C_DECLS

#endif
