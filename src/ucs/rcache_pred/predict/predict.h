/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_PREDICT_H_
#define UCS_RCACHE_PRED_PREDICT_H_

#include "callsite.h"
#include "place.h"
#include "precedent.h"

/** @file predict.h
 *
 * Predicts when a region is needed next: its deadline, which comes from the
 * histories of its call sites. The functions here get all times as arguments
 * and know neither the cache nor a clock nor a lock. The helper calls them, and
 * holds its mutex whenever it touches a predictor or a forecast.
 */

/** What the predictions for all regions of a cache share. */
typedef struct ucs_rcache_pred_predictor {
    ucs_rcache_pred_site_table_t sites;
    ucs_rcache_pred_place_table_t places;
    ucs_rcache_pred_precedent_table_t precedents;
    unsigned                     depth; /**< How many recent intervals histories
                                             consider, 1..MAX_HISTORY */
} ucs_rcache_pred_predictor_t;


/** What is known about the uses of one region. */
typedef struct ucs_rcache_pred_forecast {
    ucs_list_link_t           sites;      /**< Call sites of the region, those
                                               that were used last first */
    ucs_rcache_pred_history_t history;    /**< History of all uses of the
                                               region, whatever their context */
    uint64_t                  last_site;  /**< Signature of the last use; 0: the
                                               region was never used */
    uint64_t                  last_phase; /**< Signature of the last use that
                                               was in a phase, with that phase;
                                               0: there was none */
    ucs_rcache_pred_time_t    earliest;   /**< A use before that was not the one
                                               that the last decision expected;
                                               has a meaning if predicted or
                                               in_trial is not 0, as the next two
                                               have */
    ucs_rcache_pred_time_t    expiry;     /**< When to stop waiting for it */
    ucs_rcache_pred_time_t    period;     /**< Period of the history that has
                                               predicted it */
    uint64_t                  place;      /**< Hash of the place of the last
                                               use */
    uint64_t                  way;        /**< Hash of the place of the last use
                                               and of its length; 0: it is no
                                               precedent for others */
    ucs_list_link_t           waits;      /**< Waits for a precedent of that way
                                               of use */
    uint64_t                  source;     /**< Signature of the site from which
                                               the deadline comes; 0: it comes
                                               from the history of all uses */
    uint8_t                   source_next; /**< Not 0: the deadline comes from
                                                the site's history of next uses,
                                                not from the history of its own
                                                recurrence */
    uint8_t                   predicted;  /**< Not 0: the last decision about
                                               the region expected a use */
    uint8_t                   in_trial;   /**< Not 0: a use is expected, even if
                                               nobody acts on it, and whether it
                                               has come in time is not known
                                               yet */
    uint8_t                   record;     /**< Rises when deadlines are met, even
                                               if nobody has acted on them, and
                                               is halved when one is not */
    uint8_t                   follows;    /**< Not 0: the region was used once,
                                               and its next use is expected as
                                               that of others was */
    uint8_t                   run;        /**< How many intervals in a row
                                               before the last one were about as
                                               long as each other; up to the
                                               longest run that is told apart */
    uint8_t                   doubt;      /**< Rises when deadlines are not met
                                               and falls when they are, see
                                               predict.c */
} ucs_rcache_pred_forecast_t;


/**
 * Initialize a predictor. Allocates memory.
 *
 * @param [in] num_sites  How many call sites to remember at most, >= 1.
 * @param [in] depth      How many recent intervals histories consider,
 *                        1..UCS_RCACHE_PRED_MAX_HISTORY.
 */
ucs_status_t
ucs_rcache_pred_predictor_init(ucs_rcache_pred_predictor_t *predictor,
                               unsigned num_sites, unsigned depth);

/** Free the memory of a predictor. */
void
ucs_rcache_pred_predictor_cleanup(ucs_rcache_pred_predictor_t *predictor);

/** Initialize the forecast of a region that was never used. */
void ucs_rcache_pred_forecast_init(ucs_rcache_pred_forecast_t *forecast);

/** Remove the call sites of a region that is forgotten. */
void ucs_rcache_pred_forecast_forget(ucs_rcache_pred_predictor_t *predictor,
                                     ucs_rcache_pred_forecast_t *forecast);

/** Forget in which contexts a region was used. What is known of its uses whatever
 *  their context stays, and predicts the next one. */
void ucs_rcache_pred_forecast_merge(ucs_rcache_pred_predictor_t *predictor,
                                    ucs_rcache_pred_forecast_t *forecast);

/**
 * Add the begin of a use to the histories of a region.
 *
 * @param [in] begin      When the use began.
 * @param [in] signature  Signature of the use, see @ref
 *                        ucs_rcache_pred_signature.
 * @param [in] place      Hash of the place of the use, see @ref
 *                        ucs_rcache_pred_signature_of_place.
 * @param [in] awaited    Whether the region was registered and the use was
 *                        awaited.
 * @return the class of the error of the prediction that was made for the use,
 *         or UCS_RCACHE_PRED_ERROR_CLASSES if there was none.
 */
unsigned ucs_rcache_pred_forecast_learn(ucs_rcache_pred_predictor_t *predictor,
                                        ucs_rcache_pred_forecast_t *forecast,
                                        ucs_rcache_pred_time_t begin,
                                        uint64_t signature, uint64_t place,
                                        int awaited);

/**
 * A use has begun, which is to be added to the histories of a region after this:
 * what it tells about regions that are used as this one was before.
 *
 * @param [in] way  Hash of the place and the length of this use, see @ref
 *                  ucs_rcache_pred_signature_of_way.
 * @return the way of the use before, for which there is a precedent now that
 *         others may wait for; 0: there was none.
 */
uint64_t ucs_rcache_pred_forecast_teach(ucs_rcache_pred_predictor_t *predictor,
                                      ucs_rcache_pred_forecast_t *forecast,
                                      ucs_rcache_pred_time_t begin,
                                      uint64_t way);

/** Let a forecast be told by other regions, if only one use was added to it and
 *  there is a precedent for that. If there is none yet, it waits for one; if its
 *  next use should have come by now, it does not. @return whether it was told. */
int ucs_rcache_pred_forecast_follow(ucs_rcache_pred_predictor_t *predictor,
                                    ucs_rcache_pred_forecast_t *forecast,
                                    ucs_rcache_pred_time_t now);

/** @return a forecast that has waited for a precedent, which there is now, and
 *          does not wait any more. NULL: there is none. */
ucs_rcache_pred_forecast_t *
ucs_rcache_pred_forecast_next_waiting(ucs_rcache_pred_predictor_t *predictor,
                                   uint64_t way);

/**
 * @return whether to ask what is known from elsewhere of the context of the use that was
 *         added last: nothing is known of what has followed its uses here, and of the
 *         region, little. What is known of it counts for more than what another run has
 *         seen in such places.
 */
int ucs_rcache_pred_forecast_asks(ucs_rcache_pred_predictor_t *predictor,
                                  const ucs_rcache_pred_forecast_t *forecast);

/**
 * Tell what is known from elsewhere: intervals from uses in such a context to the next use
 * of the same memory in any. To be called if the forecast asks. It waits for no precedent
 * any more then.
 *
 * @param [in] intervals  Each > 0, the last one being the most likely, ns.
 */
void ucs_rcache_pred_forecast_tell(ucs_rcache_pred_predictor_t *predictor,
                                   ucs_rcache_pred_forecast_t *forecast,
                                   const ucs_rcache_pred_time_t *intervals,
                                   unsigned num);

/**
 * Predict the region's deadline. It comes from the first of these that predicts
 * one:
 *
 * - how long after earlier uses in the context of the last use the next use
 *   came; only those in the same phase of a loop are considered, if they
 *   predict something else, or predict it more exactly;
 * - the earliest recurrence of any context of the region, which is the paper's
 *   rule. It applies after the last iteration of a loop, when the first
 *   prediction has turned out wrong;
 * - the intervals between uses in whatever context, as long as no context has
 *   been seen twice.
 *
 * There is no deadline if the place of the last use is doubted, and the region
 * has no record of its own. Whether the use comes when it was due is found out
 * all the same.
 *
 * @param [out] history_p  The history from which the deadline comes; NULL if
 *                         there is no deadline.
 * @return the deadline, or UCS_RCACHE_PRED_TIME_INF if no use is predicted. What
 *         was predicted stays in the forecast until the next call, even if the
 *         table of sites forgets the site from which it comes.
 */
ucs_rcache_pred_time_t
ucs_rcache_pred_forecast_deadline(ucs_rcache_pred_predictor_t *predictor,
                                  ucs_rcache_pred_forecast_t *forecast,
                                  ucs_rcache_pred_time_t now,
                                  ucs_rcache_pred_history_t **history_p);

/** @return whether to act on what is predicted for the region. To be asked when
 *          that is due: other regions may meanwhile have shown that the place of
 *          the last use is not to be believed. */
int ucs_rcache_pred_forecast_is_trusted(
        const ucs_rcache_pred_predictor_t *predictor,
        const ucs_rcache_pred_forecast_t *forecast);

/** Learn that the awaited use has not come in time: the region's doubt rises,
 *  and the history that predicted the use loses confidence. */
void ucs_rcache_pred_forecast_unmet(ucs_rcache_pred_predictor_t *predictor,
                                    ucs_rcache_pred_forecast_t *forecast);

#endif
