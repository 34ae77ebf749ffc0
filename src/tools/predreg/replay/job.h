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

/** @file job.h Loads and replays the ranks of a job that was recorded. */

/** Which parts of a program are missing in its traces. */
typedef struct predreg_damage {
    uint64_t lost;      /**< Events that could not be recorded */
    int      truncated; /**< Whether the end of a trace is missing */
} predreg_damage_t;

typedef struct predreg_rank {
    ucs_rcache_trace_t *trace;
    predreg_timeline_t *timeline;
    predreg_damage_t   damage;
    long               number;    /**< Its rank in the job; if it has none, its
                                       index here */
} predreg_rank_t;

typedef struct predreg_job {
    predreg_rank_t   *ranks;
    size_t           num_ranks;
    int64_t          *offsets; /**< By how much later each rank lies in time,
                                    ns */
    int              aligned;  /**< Whether the offsets are known */
    predreg_damage_t damage;   /**< Of all ranks together */
} predreg_job_t;


/**
 * @param [in]  paths  Folders of traces, and traces.
 * @param [out] job    The job; the caller has to clean it up in any case.
 * @return the first error; the reason has been printed.
 */
ucs_status_t predreg_job_load(int num_paths, char **paths, predreg_job_t *job);

void predreg_job_cleanup(predreg_job_t *job);

/**
 * Replay all ranks under one policy.
 *
 * @param [out] results  An array of num_ranks + 1: the result of each rank,
 *                       then that of all together. The caller has to clean them
 *                       up if this returns UCS_OK.
 */
ucs_status_t predreg_job_replay(const predreg_job_t *job,
                                predreg_replay_policy_t policy,
                                const predreg_replay_opts_t *opts,
                                predreg_replay_result_t *results);

END_C_DECLS

#endif
