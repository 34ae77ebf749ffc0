/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GAIN_H_
#define PREDREG_GAIN_H_

#include <tools/replay/account/result.h>

BEGIN_C_DECLS

/** @file gain.h
 *
 * What an arena (UCX_RCACHE_PRED_ARENA) would change for a job, beside predict
 * without one. The replay command and the report call these functions.
 */

/** An arena is worth its memory if it saves this part of the run time. Our own
 *  choice, that of PREDREG_SENDS_WORTH_PART. */
#define PREDREG_GAIN_WORTH_PART 0.001

typedef struct predreg_gain {
    unsigned ranks;           /**< Ranks with mappings that an arena serves */
    uint64_t uses;            /**< Of these ranks */
    uint64_t answered;        /**< Uses for which nothing would be registered */
    int64_t  saved;           /**< How much less they would wait, ns */
    uint64_t time;            /**< How long they run under predict, ns */
    uint64_t size;            /**< Of the largest arena that was played, bytes */
    double   average;         /**< Registered memory with the arena, sum of the
                                   ranks' averages, bytes */
    double   predict_average; /**< The same without one */
} predreg_gain_t;


/** What is to be said of UCX_RCACHE_PRED_ARENA. */
typedef enum {
    PREDREG_GAIN_NONE,   /**< The program has no mappings that it serves, or the
                              trace does not tell */
    PREDREG_GAIN_UNUSED, /**< No use is of its memory */
    PREDREG_GAIN_LOSES,  /**< The program would wait longer */
    PREDREG_GAIN_LITTLE, /**< It would save little of the run time */
    PREDREG_GAIN_YES     /**< It is recommended */
} predreg_gain_advice_t;

/** @return "none", "unused", "loses", "little" or "yes". */
const char *predreg_gain_advice_name(predreg_gain_advice_t advice);


/** Add a rank that was played under both. Does nothing if it has no mappings
 *  that an arena serves. */
void predreg_gain_add(predreg_gain_t *gain,
                      const predreg_replay_result_t *predict,
                      const predreg_replay_result_t *arena);

predreg_gain_advice_t predreg_gain_advise(const predreg_gain_t *gain);

END_C_DECLS

#endif
