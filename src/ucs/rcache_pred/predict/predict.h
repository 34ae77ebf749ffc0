/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_PREDICT_H_
#define UCS_RCACHE_PRED_PREDICT_H_

#include "callsite.h"

/** @file predict.h
 *
 * When a region is needed next: its deadline, from the histories of its call
 * sites. Times and what was learned so far go in, a deadline comes out: nothing
 * here knows the cache, a clock or a lock. Called by the helper, which holds its
 * mutex whenever it touches a predictor or a forecast.
 */

/** What all regions of a cache share. */
typedef struct ucs_rcache_pred_predictor {
    ucs_rcache_pred_site_table_t sites;
    unsigned                     depth; /**< Recent intervals to consider,
                                             1..MAX_HISTORY */
} ucs_rcache_pred_predictor_t;


/** What is known of the uses of one region. */
typedef struct ucs_rcache_pred_forecast {
    ucs_list_link_t           sites;      /**< Its call sites */
    ucs_rcache_pred_history_t history;    /**< Of all its uses, whatever their
                                               context */
    uint64_t                  last_site;  /**< Signature of the last use; 0:
                                               there was none */
    uint64_t                  last_phase; /**< Likewise, with the phase that the
                                               use was in */
    uint64_t                  source;     /**< Signature of the site that set
                                               the deadline; 0: the history
                                               above set it */
    uint8_t                   source_next; /**< It was the site's history of
                                                next uses that set it, not that
                                                of its own recurrence */
    uint8_t                   predicted;  /**< The last decision expected a
                                               use */
    uint8_t                   run;        /**< Intervals in a row before the
                                               last one that were alike, up to
                                               the number that is told apart */
    uint8_t                   doubt;      /**< Rises with deadlines unmet, falls
                                               with those met */
} ucs_rcache_pred_forecast_t;


/**
 * Allocates.
 *
 * @param [in] num_sites  Call sites to remember, >= 1.
 * @param [in] depth      1..UCS_RCACHE_PRED_MAX_HISTORY.
 */
ucs_status_t
ucs_rcache_pred_predictor_init(ucs_rcache_pred_predictor_t *predictor,
                               unsigned num_sites, unsigned depth);

void
ucs_rcache_pred_predictor_cleanup(ucs_rcache_pred_predictor_t *predictor);

/** Of a region that was never used. */
void ucs_rcache_pred_forecast_init(ucs_rcache_pred_forecast_t *forecast);

/** The region goes, and its call sites with it. */
void ucs_rcache_pred_forecast_forget(ucs_rcache_pred_predictor_t *predictor,
                                     ucs_rcache_pred_forecast_t *forecast);

/**
 * Take the begin of a use into the histories.
 *
 * @param [in] begin      When the use began.
 * @param [in] signature  Of the use, see @ref ucs_rcache_pred_signature.
 * @param [in] awaited    Whether the region was registered and awaited it.
 * @return the class of the error of the prediction that was made for the use,
 *         or UCS_RCACHE_PRED_ERROR_CLASSES if there was none.
 */
unsigned ucs_rcache_pred_forecast_learn(ucs_rcache_pred_predictor_t *predictor,
                                        ucs_rcache_pred_forecast_t *forecast,
                                        ucs_rcache_pred_time_t begin,
                                        uint64_t signature, int awaited);

/**
 * The region's deadline, from the first of these that predicts one:
 *
 * - how long after uses in the last use's context the next use has come; or
 *   after those of them that were in the same phase of a loop, if that says
 *   something else, or says it more exactly;
 * - the earliest recurrence of any context of the region (the paper's rule):
 *   what happens after a loop's last iteration, when the first prediction has
 *   turned out wrong;
 * - as long as no context has been seen twice, how long after each other uses
 *   have come regardless of context.
 *
 * @param [out] history_p  Where the deadline comes from; NULL if there is none.
 * @return the deadline, or UCS_RCACHE_PRED_TIME_INF: no use is predicted.
 */
ucs_rcache_pred_time_t
ucs_rcache_pred_forecast_deadline(ucs_rcache_pred_predictor_t *predictor,
                                  ucs_rcache_pred_forecast_t *forecast,
                                  ucs_rcache_pred_time_t now,
                                  ucs_rcache_pred_history_t **history_p);

/** When to stop waiting for the use that @a history predicts. */
ucs_rcache_pred_time_t
ucs_rcache_pred_forecast_expiry(const ucs_rcache_pred_forecast_t *forecast,
                                const ucs_rcache_pred_history_t *history);

/** The use that was awaited has not come. */
void ucs_rcache_pred_forecast_unmet(ucs_rcache_pred_predictor_t *predictor,
                                    ucs_rcache_pred_forecast_t *forecast);

/** @return the history that the present deadline came from; NULL if its site is
 *          gone. */
ucs_rcache_pred_history_t *
ucs_rcache_pred_forecast_source(ucs_rcache_pred_predictor_t *predictor,
                                ucs_rcache_pred_forecast_t *forecast);

#endif
