/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_PREDICT_H_
#define UCS_RCACHE_PRED_PREDICT_H_

#include "history.h"

#include <ucs/rcache_pred/api/event.h>
#include <ucs/rcache_pred/api/rcache_pred.h>

#include <ucs/datastruct/list.h>
#include <ucs/sys/compiler_def.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file predict.h
 *
 * Predicts when a region is needed next: its deadline, which comes from the
 * histories of its call sites. The functions get all times as arguments, and
 * use neither the cache nor a clock nor a lock. The helper calls them, and
 * holds its mutex whenever it touches a predictor or a forecast.
 */

/*
 * The signature of a communication on a region: the key of the call-site table
 * (CF'11, section 3.1). The functions are pure. The helper computes signatures,
 * off the critical path.
 */

/**
 * @return the signature of a communication on a region, which is never 0.
 *
 * @param [in] region  Number of the region, which tells apart regions that
 *                     start at the same address: regions of different domains,
 *                     or regions that are used with different lengths at the
 *                     same time.
 */
uint64_t ucs_rcache_pred_signature(const ucs_rcache_pred_context_t *context,
                                   uint64_t region, uintptr_t address,
                                   uint64_t length);

/** @return the hash, never 0, of the place of the program that called a communication,
 *  for any buffer and any former communications. */
uint64_t
ucs_rcache_pred_signature_of_place(const ucs_rcache_pred_context_t *context);

/** @return a hash, never 0, of a signature or a place and a number: of a way of use, which is
 *  a place with the length of memory that is used there; or the signature of a
 *  communication in a certain phase of its region, which predict.c defines. */
uint64_t ucs_rcache_pred_signature_with(uint64_t signature, uint64_t number);


/*
 * Regions used from one place of the program tell about each other. A place is a caller
 * and the path of calls to the caller, for any buffer and any former communications; a
 * way of use is a place and a length. The helper remembers of a place whether predictions
 * about its regions come true: where the uses of a place come at random, not each of its
 * regions has to learn so by itself. And it remembers of a way of use the intervals after
 * which regions were used again: they are precedents for a region that was used only
 * once, in the same way. Such a region asks for a precedent, and waits if there is none
 * yet.
 *
 * In some places buffers are used once and never again, or the next uses of buffers
 * belong to different loops. So a precedent is trusted only so far: each region that
 * follows the precedent counts as a prediction that is not met, until its next use comes
 * when expected. While the precedent is doubted, further regions wait.
 *
 * The functions are pure; only the helper calls them, without a lock.
 */

/** How many intervals of a way of use are remembered: the last ones. Two such intervals
 *  tell less than two intervals of one region, since the former passed at about the same
 *  time. A history that was told many of them would look steady before it has seen any
 *  interval of its own. */
#define UCS_RCACHE_PRED_PRECEDENT_DEPTH 2

/** With every so many intervals added to it, a doubted precedent is believed once more: one
 *  region may follow. */
#define UCS_RCACHE_PRED_PRECEDENT_RETRY 64

/* Places and ways are kept in SETS sets of WAYS each. The hash says in which set a place
 * or a way is. A new one replaces that of its set of which the helper has learned nothing
 * for longest. */
#define UCS_RCACHE_PRED_PLACE_SETS 512
#define UCS_RCACHE_PRED_PLACE_WAYS 4


/** One place, or one way of use. */
typedef struct ucs_rcache_pred_place {
    uint64_t                hash;    /**< See @ref ucs_rcache_pred_signature_of_place and
                                          @ref ucs_rcache_pred_signature_with; 0: none
                                          is here */
    uint64_t                learned; /**< Value of the table's field learned, when the
                                          helper has last learned of this one */
    ucs_rcache_pred_trust_t trust;   /**< Place: in the predictions about its regions.
                                          Way: in the precedent; uses of regions that
                                          follow it raise and lower the trust */
    uint64_t                region;  /**< Place: number of the region about which the
                                          last verdict was */
    uint64_t                count;   /**< Way: how many intervals there were */
    ucs_list_link_t         waiting; /**< Way: links of forecasts that wait to follow the
                                          precedent, the longest wait first */
    ucs_rcache_pred_time_t  intervals[UCS_RCACHE_PRED_PRECEDENT_DEPTH];
                                     /**< Way: the last intervals, as a ring */
} ucs_rcache_pred_place_t;


/** The places and ways of use that were lately seen. All zero: none is known. */
typedef struct ucs_rcache_pred_place_table {
    uint64_t                learned; /**< How often the helper has learned of one */
    ucs_rcache_pred_place_t sets[UCS_RCACHE_PRED_PLACE_SETS]
                                [UCS_RCACHE_PRED_PLACE_WAYS];
} ucs_rcache_pred_place_table_t;


/**
 * Learn whether a deadline was met, of a region that was last used from this place.
 * Several verdicts in a row about the same region count once, since they say little about
 * other regions.
 *
 * @param [in] hash    Hash of the place, not 0.
 * @param [in] region  A number of the region, to tell regions apart.
 */
void ucs_rcache_pred_place_judge(ucs_rcache_pred_place_table_t *table,
                                 uint64_t hash, uint64_t region, int met);

/** @return whether a place is doubted. Then the caller acts on the prediction for a
 *  region of the place only if earlier predictions for this region were right. An unknown
 *  place is not doubted. */
int ucs_rcache_pred_place_is_doubted(const ucs_rcache_pred_place_table_t *table,
                                     uint64_t hash);


/** How many of the last uses are looked at for companions, see companion.h. */
#define UCS_RCACHE_PRED_HEARD 32


/** The common part of the predictions for all regions of a cache. */
typedef struct ucs_rcache_pred_predictor {
    ucs_rcache_pred_site_table_t sites;
    ucs_rcache_pred_place_table_t places;
    ucs_rcache_pred_site_t       *heard[UCS_RCACHE_PRED_HEARD];
                                        /**< Sites of the last uses, as a ring */
    uint64_t                     num_heard; /**< How many uses there were so far */
    unsigned                     depth; /**< How many recent intervals histories
                                             consider, 1..MAX_HISTORY */
} ucs_rcache_pred_predictor_t;


/** The uses of one region. */
typedef struct ucs_rcache_pred_forecast {
    ucs_list_link_t           sites;      /**< Call sites of the region, in the
                                               order of their last use, the
                                               latest first */
    ucs_rcache_pred_history_t history;    /**< History of all uses of the
                                               region, whatever their context */
    uint64_t                  last_site;  /**< Signature of the last use; 0: the
                                               region was never used */
    uint64_t                  last_phase; /**< Signature, with the phase, of the last use
                                               that was in a phase; 0: none was */
    ucs_rcache_pred_time_t    earliest;   /**< When the use that the last
                                               decision has expected may begin
                                               at the earliest. Valid if
                                               predicted or in_trial is not 0,
                                               and so are expiry and period */
    ucs_rcache_pred_time_t    expiry;     /**< When to stop waiting for the use */
    ucs_rcache_pred_time_t    period;     /**< Period of the predicting history */
    uint64_t                  place;      /**< Hash of the place of the last
                                               use */
    uint64_t                  way;        /**< Hash of the way of the last use:
                                               its place and length; 0: the use
                                               is no precedent for others */
    ucs_list_link_t           waits;      /**< Link in the list of forecasts
                                               that wait for a precedent of the
                                               way */
    ucs_list_link_t           followers;  /**< Link in the list of those that follow
                                               the same site, see companion.h; all
                                               zeros: follows none */
    uint64_t                  source;     /**< Signature of the site behind the deadline;
                                               0: the deadline comes from the history of
                                               all uses */
    uint8_t                   source_next; /**< Not 0: the deadline comes from
                                                the site's history of next uses,
                                                not from the history of its own
                                                recurrence */
    uint8_t                   companion;  /**< Which companion of the last site the
                                               forecast follows */
    uint8_t                   predicted;  /**< Not 0: the last decision about
                                               the region expected a use */
    uint8_t                   in_trial;   /**< Not 0: a history has predicted a
                                               use, whether or not anybody acts
                                               on the prediction, and nobody
                                               knows yet whether the use comes
                                               in time */
    uint8_t                   follows;    /**< Not 0: the region was used once,
                                               and its next use is expected
                                               after the interval of a precedent */
    uint8_t                   run;        /**< How many of the last intervals in
                                               a row were about as long as the
                                               interval before; at most
                                               PHASE_MAX_RUN in predict.c */
    ucs_rcache_pred_trust_t   trust;      /**< In predictions about the region,
                                               whether or not anybody has acted
                                               on them */
} ucs_rcache_pred_forecast_t;


/** @return whether a use that begins at this time is the expected one: the prediction was
 *          right. */
static inline int
ucs_rcache_pred_forecast_is_met(const ucs_rcache_pred_forecast_t *forecast,
                                ucs_rcache_pred_time_t begin)
{
    return forecast->in_trial && (begin >= forecast->earliest) &&
           (begin <= forecast->expiry);
}

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

/** Initialize the forecast of an unused region. */
void ucs_rcache_pred_forecast_init(ucs_rcache_pred_forecast_t *forecast);

/** Remove the call sites of a forgotten region. */
void ucs_rcache_pred_forecast_forget(ucs_rcache_pred_predictor_t *predictor,
                                     ucs_rcache_pred_forecast_t *forecast);

/** Let the forecast of an unused region go on from that of another region: it has the
 *  history of all uses of that region, which predicts the next one, and no contexts. */
void ucs_rcache_pred_forecast_inherit(ucs_rcache_pred_forecast_t *forecast,
                                      const ucs_rcache_pred_forecast_t *former);

/**
 * Add the begin of a use to the histories of a region.
 *
 * @param [in] begin      When the use began.
 * @param [in] signature  Signature of the use, see @ref
 *                        ucs_rcache_pred_signature.
 * @param [in] place      Hash of the place of the use, see @ref
 *                        ucs_rcache_pred_signature_of_place.
 * @return the class of the error of the prediction that was made for the use,
 *         or UCS_RCACHE_PRED_ERROR_CLASSES if there was none.
 */
unsigned ucs_rcache_pred_forecast_learn(ucs_rcache_pred_predictor_t *predictor,
                                        ucs_rcache_pred_forecast_t *forecast,
                                        ucs_rcache_pred_time_t begin,
                                        uint64_t signature, uint64_t place);

/**
 * A region was used again: add the interval since its former use to the precedent of the
 * way of that former use. The caller adds the new use to the histories of the region
 * after this call.
 *
 * @param [in] way  Hash of the place and the length of the new use, see @ref
 *                  ucs_rcache_pred_signature_with.
 * @param [in] met  Whether the use is the expected one.
 *
 * @return the way of the former use, so that the caller tells regions that wait for its
 *         precedent; 0: no interval was added.
 */
uint64_t ucs_rcache_pred_forecast_teach(ucs_rcache_pred_predictor_t *predictor,
                                      ucs_rcache_pred_forecast_t *forecast,
                                      ucs_rcache_pred_time_t begin,
                                      uint64_t way, int met);

/** Let the forecast of a region that was used once only follow the precedent of the way
 *  of that use. If there is no precedent yet, the forecast waits for one. If the next use
 *  should have come by now, going by the precedent, the forecast neither follows nor
 *  waits.
 *  @return whether the forecast follows a precedent. */
int ucs_rcache_pred_forecast_follow(ucs_rcache_pred_predictor_t *predictor,
                                    ucs_rcache_pred_forecast_t *forecast,
                                    ucs_rcache_pred_time_t now);

/** Let one forecast that waits for a precedent stop waiting, since there is one
 *  now. @return the forecast; NULL: none waits. */
ucs_rcache_pred_forecast_t *
ucs_rcache_pred_forecast_next_waiting(ucs_rcache_pred_predictor_t *predictor,
                                   uint64_t way);

/**
 * Predict the region's deadline. It comes from the first of these sources that
 * predicts a use:
 *
 * - the intervals from earlier uses in the context of the last use to the next
 *   use; only uses in the same phase of a loop are considered if they predict
 *   another time, or predict it more exactly;
 * - the earliest recurrence of any context of the region, which is the paper's
 *   rule. It applies after the last iteration of a loop, when the first
 *   prediction has turned out wrong;
 * - the intervals between uses in whatever context, as long as no context has
 *   been seen twice.
 *
 * There is no deadline if the place of the last use is doubted, and the region
 * is not trusted. The forecast finds out nevertheless whether the use
 * comes when it was due.
 *
 * @param [out] history_p  The history from which the deadline comes; NULL if
 *                         there is no deadline.
 * @return the deadline, or UCS_RCACHE_PRED_TIME_INF if no use is predicted. The
 *         prediction stays in the forecast until the next call, even if the
 *         table of sites forgets the site from which the prediction comes.
 */
ucs_rcache_pred_time_t
ucs_rcache_pred_forecast_deadline(ucs_rcache_pred_predictor_t *predictor,
                                  ucs_rcache_pred_forecast_t *forecast,
                                  ucs_rcache_pred_time_t now,
                                  ucs_rcache_pred_history_t **history_p);

/** @return whether to act on the prediction for the region. The helper asks again when
 *          the registration ahead is due: by then, other regions may have made the place
 *          of the last use doubted. */
int ucs_rcache_pred_forecast_is_trusted(
        const ucs_rcache_pred_predictor_t *predictor,
        const ucs_rcache_pred_forecast_t *forecast);

/** Learn that the awaited use has not come in time: the trust in the region, in the place of
 *  its last use and in the history that predicted the use falls. */
void ucs_rcache_pred_forecast_unmet(ucs_rcache_pred_predictor_t *predictor,
                                    ucs_rcache_pred_forecast_t *forecast);

END_C_DECLS

#endif
