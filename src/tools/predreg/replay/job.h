/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPLAY_JOB_H_
#define PREDREG_REPLAY_JOB_H_

#include "opts.h"

#include <tools/replay/scale/ranks.h>

BEGIN_C_DECLS

/** @file job.h
 *
 * Replays the ranks of a job that was recorded. Each trace is loaded, replayed
 * under all policies and freed before the next one is loaded, so that a job of
 * any size fits into memory: of a rank there remain some numbers, and for each
 * policy its curve of registered memory.
 */

/** What a trace says of the cost of an operation. */
typedef enum {
    PREDREG_KNOWN_NOT,    /**< Nothing: none was recorded */
    PREDREG_KNOWN_SIZE,   /**< What it is at one size. A page is guessed */
    PREDREG_KNOWN_ALL
} predreg_known_t;

/** Which parts of a program are missing in its traces. */
typedef struct predreg_damage {
    int      guessed;   /**< Whether costs are a guess, at least in part: they
                             were neither recorded nor given */
    uint64_t lost;      /**< Events that could not be recorded */
    int      truncated; /**< Whether the end of a trace is missing */
    size_t   left_out;  /**< Traces that could not be read at all */
} predreg_damage_t;

typedef struct predreg_rank {
    char                 *path;       /**< Of its trace */
    long                 number;      /**< Its rank in the job; if it has none,
                                           its index here */
    int                  has_number;  /**< Whether its trace says its rank */
    unsigned             input;       /**< Which of the paths that were given it
                                           is of */
    size_t               order;       /**< In which order it was loaded */
    predreg_rank_start_t start;
    size_t               num_uses;
    uint64_t             duration;    /**< Without waits, ns */
    uint64_t             waited;      /**< The waits that were taken out, ns */
    predreg_cost_t       reg;         /**< As fitted to what was recorded */
    predreg_cost_t       dereg;
    predreg_known_t      reg_known;
    predreg_known_t      dereg_known;
    predreg_damage_t     damage;
} predreg_rank_t;

typedef struct predreg_job {
    predreg_rank_t          *ranks;   /**< By path given, then by rank, those
                                           without one last, then by name */
    size_t                  num_ranks;
    int64_t                 *offsets; /**< By how much later each rank lies in
                                           time, ns */
    int                     aligned;  /**< Whether the offsets are known */
    predreg_damage_t        damage;   /**< Of all ranks together */
    predreg_replay_result_t *results[PREDREG_REPLAY_LAST];
                                      /**< For each policy, the results of the
                                           ranks, then that of all together;
                                           NULL: it was not asked for, or would
                                           have taken too long */
} predreg_job_t;


/**
 * Load and replay a job.
 *
 * Traces that are damaged are left out with a warning, unless there are no
 * others.
 *
 * @param [out] job  The job; the caller has to clean it up in any case.
 * @return the first error; the reason has been printed.
 */
ucs_status_t predreg_job_replay(const predreg_replay_opts_t *opts,
                                predreg_job_t *job);

void predreg_job_cleanup(predreg_job_t *job);

END_C_DECLS

#endif
