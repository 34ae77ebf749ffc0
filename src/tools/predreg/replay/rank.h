/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPLAY_RANK_H_
#define PREDREG_REPLAY_RANK_H_

#include "opts.h"

#include <tools/replay/program/timeline.h>
#include <tools/replay/scale/ranks.h>

BEGIN_C_DECLS

/** @file rank.h
 *
 * What is kept of a rank's trace once that is replayed and freed: what it is
 * called, what it says of the costs, and what is missing in it. load.c makes
 * this, and all that print read it.
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
                                           -1, and its index once the ranks are
                                           in order */
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
    predreg_damage_t     damage;      /**< Its left_out is 0 */
} predreg_rank_t;


/** Describe the rank of a trace.
 *  @param [in]  opts  Costs that they give are not guessed.
 *  @param [out] rank  All but its input and its order; to be cleaned up. */
void predreg_rank_init(predreg_rank_t *rank, const ucs_rcache_trace_t *trace,
                       const predreg_timeline_t *timeline,
                       const predreg_replay_opts_t *opts);

void predreg_rank_cleanup(predreg_rank_t *rank);

END_C_DECLS

#endif
