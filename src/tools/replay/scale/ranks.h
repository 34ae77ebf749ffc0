/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_RANKS_H_
#define PREDREG_RANKS_H_

#include <tools/replay/account/account.h>
#include <tools/trace/trace.h>

BEGIN_C_DECLS

/** @file ranks.h Puts the separately replayed ranks of a job together. */

/** The time of a rank's first event. */
typedef struct predreg_rank_start {
    int      known;
    uint64_t time;  /**< ns since 1970 */
} predreg_rank_start_t;

/** Compute the time of a rank's first event from the clocks in its trace. */
predreg_rank_start_t predreg_rank_start(const ucs_rcache_trace_t *trace);

/**
 * Find the delay of each rank's first event against the earliest rank, ns. All
 * offsets are 0 if the start of a rank is not known, or if the first events are
 * years apart.
 *
 * @return whether the offsets are known.
 */
int predreg_ranks_align(const predreg_rank_start_t *starts, size_t num_ranks,
                        int64_t *offsets);

/**
 * Sum up the numbers, the byte-seconds and, shifted by the offsets, the curves
 * of all ranks. The duration is the longest one of a rank. The average of the
 * memory is from the start of the first rank to the end of the last one, which
 * is a longer time for two jobs one after the other. The sum has no call sites,
 * since addresses differ between processes. The caller cleans it up.
 *
 * @param [in] results  Results of one policy, one for each rank.
 */
void predreg_ranks_total(const predreg_replay_result_t *results,
                         const int64_t *offsets, size_t num_ranks,
                         predreg_replay_result_t *total);

END_C_DECLS

#endif
