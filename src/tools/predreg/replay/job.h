/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPLAY_JOB_H_
#define PREDREG_REPLAY_JOB_H_

#include "opts.h"

#include <trace/trace.h>

BEGIN_C_DECLS

/** @file job.h  The ranks of a job that was recorded, to be replayed. */

/** What traces do not have of the program. */
typedef struct predreg_damage {
    uint64_t lost;      /**< Events that could not be recorded */
    int      truncated; /**< The end of one is missing */
} predreg_damage_t;

typedef struct predreg_rank {
    ucs_rcache_trace_t *trace;
    predreg_timeline_t *timeline;
    predreg_damage_t   damage;
    long               number;    /**< In its job; the index here if it has
                                       none */
} predreg_rank_t;

typedef struct predreg_job {
    predreg_rank_t   *ranks;
    size_t           num_ranks;
    int64_t          *offsets; /**< Of the ranks' times, ns */
    int              aligned;  /**< The offsets are known */
    predreg_damage_t damage;   /**< Of all ranks */
} predreg_job_t;


/**
 * @param [in]  paths  Folders of traces, and traces.
 * @param [out] job    To be cleaned up, whatever is returned.
 * @return the first error; what is wrong was said.
 */
ucs_status_t predreg_job_load(int num_paths, char **paths, predreg_job_t *job);

void predreg_job_cleanup(predreg_job_t *job);

/**
 * Replay all ranks under one policy.
 *
 * @param [out] results  Of each rank, and then of all together: num_ranks + 1,
 *                       to be cleaned up if all went well.
 */
ucs_status_t predreg_job_replay(const predreg_job_t *job,
                                predreg_replay_policy_t policy,
                                const predreg_replay_opts_t *opts,
                                predreg_replay_result_t *results);

END_C_DECLS

#endif
