/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_MISSES_H_
#define PREDREG_MISSES_H_

#include "findings.h"

BEGIN_C_DECLS

/** @file misses.h
 *
 * Finds the cause why uses of buffers miss under predict. recommend.c calls
 * this. Each cause is told by numbers of the replay that the report shows with
 * it.
 */

/** A cause answers for the misses if at least this part of them is its
 *  doing. */
#define PREDREG_CAUSE_PART        0.5
/** The helper is busy if it works for more than this part of the time in which
 *  it has something to do. */
#define PREDREG_BUSY_PART         0.25
/** So many uses of a buffer cannot be predicted: the first one, and the second
 *  one, before which no time between two uses is known. */
#define PREDREG_NEW_USES          2
/** Predict has few hits if fewer than this part of the uses hit. */
#define PREDREG_FEW_HITS_PART     0.5
/** If at least this part of the uses hit, the others need no explanation. */
#define PREDREG_MANY_HITS_PART    0.9


/** Why uses miss under predict, the first that holds. */
typedef enum {
    PREDREG_MISSES_NONE,      /**< None do, or predict was not played */
    PREDREG_MISSES_FORGOTTEN, /**< There are more buffers than regions that are
                                   remembered */
    PREDREG_MISSES_BUSY,      /**< The helper has too much to do, and uses come
                                   before it is done */
    PREDREG_MISSES_LATE,      /**< The same although the helper is not busy */
    PREDREG_MISSES_NEW,       /**< Buffers are used so few times that there is
                                   nothing to predict from */
    PREDREG_MISSES_IRREGULAR, /**< Most misses come at another time than
                                   predicted, or without a prediction */
    PREDREG_MISSES_OTHER,
    PREDREG_MISSES_LAST
} predreg_misses_t;


/** @return whether an outcome has few hits. */
static inline int predreg_has_few_hits(const predreg_outcome_t *outcome)
{
    return outcome->hits < PREDREG_FEW_HITS_PART * outcome->uses;
}

/** @return whether an outcome has so many misses that their cause is told. */
static inline int predreg_misses_matter(const predreg_outcome_t *outcome)
{
    return outcome->hits < PREDREG_MANY_HITS_PART * outcome->uses;
}

/** @return the cause of most misses. */
predreg_misses_t predreg_misses_find(const predreg_findings_t *findings);

/** @return how many misses are neither late nor of new buffers, and came at
 *  another time than predicted, by more than a quarter of the time between two
 *  uses, or without a prediction; at most so many. */
uint64_t predreg_misses_irregular(const predreg_findings_t *findings);

END_C_DECLS

#endif
