/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_HISTORY_H_
#define UCS_RCACHE_PRED_HISTORY_H_

#include <ucs/rcache_pred/api/rcache_pred.h>

/** @file history.h
 *
 * When something recurring began, and when it is expected to begin again.
 * Pure: no clock, no locking.
 */

/** A history whose last predictions failed says nothing until it was right
 *  again in retrospect. Saturating counter, 0..MAX; predictions need 1. */
#define UCS_RCACHE_PRED_CONFIDENCE_MAX   4
#define UCS_RCACHE_PRED_CONFIDENCE_START 2


typedef struct ucs_rcache_pred_history {
    ucs_rcache_pred_time_t last;       /**< Last begin; 0: none is awaited */
    ucs_rcache_pred_time_t period;     /**< Shortest of the recent intervals;
                                            0: none yet */
    ucs_rcache_pred_time_t typical;    /**< Median of the recent intervals */
    ucs_rcache_pred_time_t longest;    /**< Longest of the recent intervals */
    ucs_rcache_pred_time_t undershoot; /**< By how much an interval was shorter
                                            than the period before it; fades */
    ucs_rcache_pred_time_t overshoot;  /**< By how much it was longer; fades */
    ucs_rcache_pred_time_t intervals[UCS_RCACHE_PRED_MAX_HISTORY]; /**< Ring */
    uint32_t               count;      /**< Intervals ever seen */
    uint8_t                confidence;
    uint8_t                streak;     /**< Last intervals in a row that were
                                            as long as the period before them,
                                            or by its narrow grace longer;
                                            saturates */
} ucs_rcache_pred_history_t;


void ucs_rcache_pred_history_init(ucs_rcache_pred_history_t *history);

/**
 * It began again. An interval that ends within the period and its grace raises
 * the confidence, predicted or not. A begin more than a period before the last
 * one means that the clock went back: the intervals go on from there.
 *
 * @param [in] depth  Recent intervals to consider, 1..MAX_HISTORY. The paper
 *                    keeps the shortest interval ever (section 4.2); one short
 *                    burst would then never be forgotten.
 */
void ucs_rcache_pred_history_add(ucs_rcache_pred_history_t *history,
                                 ucs_rcache_pred_time_t begin,
                                 unsigned depth);

/**
 * What began last is over: it was @a end that came next, and nothing is awaited
 * any more. The interval counts as with @ref ucs_rcache_pred_history_add.
 */
void ucs_rcache_pred_history_close(ucs_rcache_pred_history_t *history,
                                   ucs_rcache_pred_time_t end, unsigned depth);

/** @return the interval recorded last, or 0 if there is none. */
static inline ucs_rcache_pred_time_t
ucs_rcache_pred_history_latest(const ucs_rcache_pred_history_t *history,
                               unsigned depth)
{
    return (history->count == 0) ?
           0 : history->intervals[(history->count - 1) % depth];
}

/** A registration ahead of the predicted begin was for nothing. */
void ucs_rcache_pred_history_unmet(ucs_rcache_pred_history_t *history);

/**
 * How much earlier than predicted to be ready, since the shortest of a few
 * intervals is not the shortest there will be: 5/4 of what intervals fell short
 * of the period before, or 3/4 of the distance from the period to the median
 * interval, whichever is more. With one interval it is 1/32 of the period; with
 * two or three at least 1/64 of the period and 3 times their spread, up to 1/8.
 * At most a quarter of the period.
 *
 * The factors are ours. With intervals of normally distributed length and 8 of
 * them remembered, 2.9 % of begins come before the deadline, whatever their
 * deviation, against 7.3 % with the first term alone.
 */
ucs_rcache_pred_time_t
ucs_rcache_pred_history_lead(const ucs_rcache_pred_history_t *history);

/**
 * How long after the predicted begin to go on waiting for it: 1/8 of the period
 * and either the spread of the recent intervals or 5/4 of what intervals came
 * late before, whichever is more; at least a quarter of the period, half of it
 * while fewer than 4 intervals are known; at most one period.
 */
ucs_rcache_pred_time_t
ucs_rcache_pred_history_grace(const ucs_rcache_pred_history_t *history);

/** How long after the predicted begin it counts as punctual: the least that
 *  @ref ucs_rcache_pred_history_grace ever is. */
static inline ucs_rcache_pred_time_t
ucs_rcache_pred_history_narrow_grace(const ucs_rcache_pred_history_t *history)
{
    return history->period / 4;
}

/**
 * When to be ready for the next begin, or UCS_RCACHE_PRED_TIME_INF if no
 * prediction can be made: there is none, the predicted begin and its grace have
 * passed, or the last begin is in the future, by more than a period, because
 * the clock went back.
 */
ucs_rcache_pred_time_t
ucs_rcache_pred_history_deadline(const ucs_rcache_pred_history_t *history,
                                 ucs_rcache_pred_time_t now);

/**
 * How wrong a predicted period was: |predicted - observed| / observed, as a
 * class of errors, 0..UCS_RCACHE_PRED_ERROR_CLASSES - 1. A class contains its
 * upper bound.
 *
 * @param [in] observed  > 0.
 */
unsigned ucs_rcache_pred_error_class(ucs_rcache_pred_time_t predicted,
                                     ucs_rcache_pred_time_t observed);

/**
 * How wrong the history is about a begin that is not recorded yet.
 *
 * @return the class of the error, or UCS_RCACHE_PRED_ERROR_CLASSES if the
 *         history predicted nothing.
 */
unsigned
ucs_rcache_pred_history_error_class(const ucs_rcache_pred_history_t *history,
                                    ucs_rcache_pred_time_t begin);

/** When to stop waiting for the predicted begin. */
ucs_rcache_pred_time_t
ucs_rcache_pred_history_expiry(const ucs_rcache_pred_history_t *history);

#endif
