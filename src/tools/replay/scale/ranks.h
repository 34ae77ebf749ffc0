/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_RANKS_H_
#define PREDREG_RANKS_H_

#include <tools/replay/account/result.h>
#include <tools/trace/trace.h>

BEGIN_C_DECLS

/** @file ranks.h
 *
 * Puts the ranks of a job together, after each has been replayed by itself.
 */

/** When a rank had its first event. */
typedef struct predreg_rank_start {
    int      known;
    uint64_t time;  /**< ns since 1970 */
} predreg_rank_start_t;

/** Compute when a rank had its first event, from the readings of the clocks
 *  that its trace contains. */
predreg_rank_start_t predreg_rank_start(const ucs_rcache_trace_t *trace);

/**
 * Find how much later than the earliest rank each rank had its first event, ns.
 * If that is not known of some rank, or if the first events are years apart,
 * all offsets are 0.
 *
 * @return whether the offsets are known.
 */
int predreg_ranks_align(const predreg_rank_start_t *starts, size_t num_ranks,
                        int64_t *offsets);

/**
 * Sum up the counters, the byte-seconds and, shifted by the offsets, the curves
 * of all ranks. The duration is that of the longest rank; memory is averaged from the
 * start of the first rank to the end of the last one, which is longer where these are
 * two jobs, one after the other. The sum has no call sites, since addresses differ from
 * process to process. The caller has to clean it up.
 *
 * @param [in] results  Results of one policy, one for each rank.
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_ranks_total(const predreg_replay_result_t *results,
                                 const int64_t *offsets, size_t num_ranks,
                                 predreg_replay_result_t *total);

END_C_DECLS

#endif
