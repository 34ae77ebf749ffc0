/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_OUTCOME_H_
#define PREDREG_OUTCOME_H_

#include <tools/replay/account/account.h>

BEGIN_C_DECLS

/** @file outcome.h
 *
 * The result of a policy over all ranks. All numbers are sums over the ranks,
 * unless they are said to be a maximum.
 */
typedef struct predreg_outcome {
    unsigned ranks;        /**< How many ranks were added; 0: the policy was not
                                played */
    uint64_t limit;        /**< Highest limit of a rank, if the policy has
                                one */
    double   average;      /**< Average of registered memory, bytes */
    uint64_t peak;         /**< Highest peak of a rank, bytes */
    double   byte_seconds;
    double   by_cause[PREDREG_CAUSE_LAST]; /**< byte * s */
    uint64_t uses;
    uint64_t hits;
    uint64_t late;
    uint64_t early;
    uint64_t wasted;
    uint64_t regs;
    uint64_t waited;       /**< On the critical path, ns */
    uint64_t duration;     /**< ns */
    uint64_t longest;      /**< Highest duration of a rank, ns */
    uint64_t helper;       /**< ns */
    double   helper_crowded; /**< That time, each part of it times how busy the
                                  helper is then, ns */
    uint64_t prediction_errors[UCS_RCACHE_PRED_ERROR_CLASSES];
} predreg_outcome_t;


/** How many parts a run is divided into, to find out how busy the helper is at
 *  a time. */
#define PREDREG_OUTCOME_SLOTS 1000


/** Add the result of a rank. */
void predreg_outcome_add(predreg_outcome_t *outcome,
                         const predreg_replay_result_t *result);

/** Add an outcome, of one rank or of several. */
void predreg_outcome_add_outcome(predreg_outcome_t *outcome,
                                 const predreg_outcome_t *more);

/** @return memory registered on average in a rank, bytes. */
static inline double predreg_outcome_average(const predreg_outcome_t *outcome)
{
    return (outcome->ranks == 0) ? 0 : (outcome->average / outcome->ranks);
}

/** @return how busy the helper is while it has something to do, 0 .. 1. A
 *  helper that has too much to do for a while may be idle for most of the
 *  run. */
static inline double predreg_outcome_load(const predreg_outcome_t *outcome)
{
    return (outcome->helper == 0) ?
           0 : (outcome->helper_crowded / outcome->helper);
}

/** @return part of the run time that was waited, 0 .. 1. */
static inline double predreg_outcome_waited(const predreg_outcome_t *outcome)
{
    return (outcome->duration == 0) ?
           0 : ((double)outcome->waited / outcome->duration);
}

END_C_DECLS

#endif
