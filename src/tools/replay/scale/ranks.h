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
 * Puts the ranks of a job together, after each has been replayed by itself.
 */

/**
 * Find how much later than the earliest rank each rank had its first event, ns.
 * This is computed from the readings of the clocks that traces contain. If a
 * trace has none, or the first events are years apart, all offsets are 0.
 *
 * @return whether the offsets are known.
 */
int predreg_ranks_align(ucs_rcache_trace_t *const *traces, size_t num_ranks,
                        int64_t *offsets);

/**
 * Sum up the counters, the byte-seconds and, shifted by the offsets, the curves
 * of all ranks. The duration is that of the longest rank. The sum has no call
 * sites, since addresses differ from process to process. The caller has to
 * clean it up.
 *
 * @param [in] results  Results of one policy, one for each rank.
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_ranks_total(const predreg_replay_result_t *results,
                                 const int64_t *offsets, size_t num_ranks,
                                 predreg_replay_result_t *total);

END_C_DECLS

#endif
