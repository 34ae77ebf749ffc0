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
 * histories of its call sites. The functions here get all times as arguments
 * and know neither the cache nor a clock nor a lock. The helper calls them, and
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
 * @param [in] region  Number of the region. It tells apart regions that start
 *                     at the same address, because they belong to different
 *                     domains or are used with different lengths at the same
 *                     time.
 */
uint64_t ucs_rcache_pred_signature(const ucs_rcache_pred_context_t *context,
                                   uint64_t region, uintptr_t address,
                                   uint64_t length);

/** @return the hash, never 0, of the place of the program that called a communication,
 *  for any buffer and any former communications. */
uint64_t
ucs_rcache_pred_signature_of_place(const ucs_rcache_pred_context_t *context);

/** @return the hash, which is never 0, of a place (@ref
 *  ucs_rcache_pred_signature_of_place) and of the length of memory that is used
 *  there. */
uint64_t ucs_rcache_pred_signature_of_way(uint64_t place, uint64_t length);

/** @return the signature, never 0, of a communication in a certain phase of its region.
 *  predict.c defines phases. */
uint64_t ucs_rcache_pred_signature_in_phase(uint64_t signature, unsigned phase);


/*
 * Regions used from one place of the program tell about each other. A place is a caller
 * and the path of calls to the caller, for any buffer and any former communications.
 * Where the uses of a place come at random, not each of its regions has to learn so by
 * itself. The functions are pure; only the helper calls them, without a lock.
 */

/** A place has a score. A met deadline raises the score, an unmet one lowers the score:
 *  the score falls where fewer than two fifths of the deadlines are met. Of deadlines
 *  from intervals at random, 10 to 35 % are met, and of deadlines from the first
 *  intervals of a period that varies by 20 %, more than half. */
#define UCS_RCACHE_PRED_PLACE_MET   3
#define UCS_RCACHE_PRED_PLACE_UNMET 2

/** The score of a place that is not believed any more. The benefit of the doubt
 *  costs so many registrations for nothing. */
#define UCS_RCACHE_PRED_PLACE_DOUBTED -6

/** The score is from -MAX to MAX, so that a changed place is not held to its distant
 *  past: 31 met deadlines make up for any past. */
#define UCS_RCACHE_PRED_PLACE_MAX 96

/* Places are kept in sets of so many, by their hash. In each set, the one that
 * was judged last comes first, and a new one replaces the last one. */
#define UCS_RCACHE_PRED_PLACE_SETS 256
#define UCS_RCACHE_PRED_PLACE_WAYS 4


/** One place. */
typedef struct ucs_rcache_pred_place {
    uint64_t hash;   /**< See @ref ucs_rcache_pred_signature_of_place;
                          0: none is here */
    uint64_t region; /**< The region of the last verdict */
    int8_t   score;
} ucs_rcache_pred_place_t;


/** The lately judged places. All zero: none is known. */
typedef struct ucs_rcache_pred_place_table {
    ucs_rcache_pred_place_t sets[UCS_RCACHE_PRED_PLACE_SETS]
                                [UCS_RCACHE_PRED_PLACE_WAYS];
} ucs_rcache_pred_place_table_t;


/**
 * Learn that a deadline of a region that was last used from this place was met,
 * or was not. Several verdicts in a row about one region count once: what
 * becomes of it alone is its own matter, and says little about others.
 *
 * @param [in] hash    Of the place, not 0.
 * @param [in] region  Tells regions apart.
 */
void ucs_rcache_pred_place_judge(ucs_rcache_pred_place_table_t *table,
                                 uint64_t hash, uint64_t region, int met);

/** @return whether predictions for regions of the place are not to be believed unless
 *  right for the region itself. An unknown place is believed. */
int ucs_rcache_pred_place_is_doubted(const ucs_rcache_pred_place_table_t *table,
                                     uint64_t hash);


/*
 * The next uses after uses of any region in one place of the program, with one length: a
 * precedent for other regions that were used once in the same way. A region asks for a
 * precedent, and waits if there is none yet.
 *
 * In some places buffers are used once and never again, or the next uses of buffers
 * belong to different loops. So a precedent has credit: each following region takes some,
 * and gives back more if its use comes when expected. Regions beyond the credit wait.
 *
 * The functions are pure; only the helper calls them, without a lock.
 */

/** Number of remembered intervals of a way of use, the last ones. The intervals tell less
 *  than as many intervals of one region, being of about the same time: with more of them,
 *  a told history would take intervals for steady before seeing one. */
#define UCS_RCACHE_PRED_PRECEDENT_DEPTH 2

/** So many regions may follow a precedent before any of them has shown the precedent to
 *  be right: so many registrations may be for nothing. */
#define UCS_RCACHE_PRED_PRECEDENT_CREDIT 4

/** The credit given back for each right one: two more regions may follow in its place. So
 *  regions in turns are told faster than used. */
#define UCS_RCACHE_PRED_PRECEDENT_MET 2

/** The highest credit of a precedent, so that the precedent is not followed for long
 *  after the program has changed. */
#define UCS_RCACHE_PRED_PRECEDENT_MAX_CREDIT 64

/** With each so many intervals that are added, a precedent without credit gets
 *  some for one region. */
#define UCS_RCACHE_PRED_PRECEDENT_RETRY 64

/* Precedents are kept in sets of so many, by the hash of the way of use. A new
 * one replaces the one of its set that was added to longest ago. */
#define UCS_RCACHE_PRED_PRECEDENT_SETS 256
#define UCS_RCACHE_PRED_PRECEDENT_WAYS 4


/** One way of use. */
typedef struct ucs_rcache_pred_precedent {
    uint64_t               way;     /**< See @ref
                                         ucs_rcache_pred_signature_of_way;
                                         0: none is here */
    uint64_t               added;   /**< Number of the table's last addition
                                         here */
    ucs_list_link_t        waiting; /**< Links that wait for the next interval: the
                                         longest waiting link comes first */
    uint64_t               count;   /**< How many intervals there were */
    unsigned               credit;  /**< Number of regions that may follow */
    ucs_rcache_pred_time_t intervals[UCS_RCACHE_PRED_PRECEDENT_DEPTH];
} ucs_rcache_pred_precedent_t;


/** The lately seen ways of use. */
typedef struct ucs_rcache_pred_precedent_table {
    uint64_t                    additions; /**< How many there were */
    ucs_rcache_pred_precedent_t sets[UCS_RCACHE_PRED_PRECEDENT_SETS]
                                    [UCS_RCACHE_PRED_PRECEDENT_WAYS];
} ucs_rcache_pred_precedent_table_t;


/** Let a table have no precedents. */
void ucs_rcache_pred_precedent_init(ucs_rcache_pred_precedent_table_t *table);

/** Add how long after a use of a region its next one has begun, ns, > 0. */
void ucs_rcache_pred_precedent_add(ucs_rcache_pred_precedent_table_t *table,
                                   uint64_t way,
                                   ucs_rcache_pred_time_t interval);

/**
 * Ask what is to be followed.
 *
 * @param [out] intervals  Room for UCS_RCACHE_PRED_PRECEDENT_DEPTH. The last one
 *                         was added last.
 * @return how many intervals are known of a way of use; 0: none, or there is no
 *         credit.
 */
unsigned
ucs_rcache_pred_precedent_ask(const ucs_rcache_pred_precedent_table_t *table,
                              uint64_t way, ucs_rcache_pred_time_t *intervals);

/** Follow a found precedent: takes credit for one. */
void ucs_rcache_pred_precedent_follow(ucs_rcache_pred_precedent_table_t *table,
                                      uint64_t way);

/** The use of a region that followed a precedent came when expected. */
void ucs_rcache_pred_precedent_met(ucs_rcache_pred_precedent_table_t *table,
                                   uint64_t way);

/** Let a link wait until a way of use can be followed. It is not waiting
 *  yet. If the precedent is replaced, it waits no more. */
void ucs_rcache_pred_precedent_wait(ucs_rcache_pred_precedent_table_t *table,
                                    uint64_t way, ucs_list_link_t *link);

/** Stop waiting. A link of all zeros has not waited. */
void ucs_rcache_pred_precedent_leave(ucs_list_link_t *link);

/** @return whoever has waited for longest for a way of use, and does not wait any
 *          more; NULL if nobody waits, or nothing is known yet, or there is no
 *          credit. */
ucs_list_link_t *
ucs_rcache_pred_precedent_release(ucs_rcache_pred_precedent_table_t *table,
                                  uint64_t way);


/** The common part of the predictions for all regions of a cache. */
typedef struct ucs_rcache_pred_predictor {
    ucs_rcache_pred_site_table_t sites;
    ucs_rcache_pred_place_table_t places;
    ucs_rcache_pred_precedent_table_t precedents;
    unsigned                     depth; /**< How many recent intervals histories
                                             consider, 1..MAX_HISTORY */
} ucs_rcache_pred_predictor_t;


/** The uses of one region. */
typedef struct ucs_rcache_pred_forecast {
    ucs_list_link_t           sites;      /**< Call sites of the region, the last used
                                               first */
    ucs_list_link_t           recurring;  /**< Those of them that were used twice and
                                               may be used again in time, the last used
                                               first */
    ucs_list_link_t           overdue;    /**< Those of them that were used twice and
                                               were not used again in time */
    ucs_rcache_pred_history_t history;    /**< History of all uses of the
                                               region, whatever their context */
    uint64_t                  last_site;  /**< Signature of the last use; 0: the
                                               region was never used */
    uint64_t                  last_phase; /**< Signature of the last use in a phase, with
                                               the phase; 0: none */
    ucs_rcache_pred_time_t    earliest;   /**< A use before that was not the one
                                               that the last decision expected;
                                               has a meaning if predicted or
                                               in_trial is not 0, as the next two
                                               have */
    ucs_rcache_pred_time_t    expiry;     /**< When to stop waiting for the use */
    ucs_rcache_pred_time_t    period;     /**< Period of the predicting history */
    uint64_t                  place;      /**< Hash of the place of the last
                                               use */
    uint64_t                  way;        /**< Hash of the place of the last use
                                               and of its length; 0: it is no
                                               precedent for others */
    ucs_list_link_t           waits;      /**< Waits for a precedent of the way of use */
    uint64_t                  source;     /**< Signature of the site behind the deadline;
                                               0: the deadline comes from the history of
                                               all uses */
    uint32_t                  opened;     /**< How many sites the region has got so far;
                                               wraps around */
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


/** @return whether a use beginning now is the expected one. */
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
 * A use has begun, and is to be added to the histories of a region after this call: learn
 * what the use tells about regions used as the region was before.
 *
 * @param [in] way  Hash of the place and the length of the use, see @ref
 * ucs_rcache_pred_signature_of_way.
 *
 * @return the way of the use before, now with a precedent for waiting regions; 0: none.
 */
uint64_t ucs_rcache_pred_forecast_teach(ucs_rcache_pred_predictor_t *predictor,
                                      ucs_rcache_pred_forecast_t *forecast,
                                      ucs_rcache_pred_time_t begin,
                                      uint64_t way);

/** Let a forecast follow other regions, if one use alone was added to the forecast and
 *  there is a precedent for that use. Without a precedent yet, the forecast waits for one;
 *  if the next use should have come by now, the forecast does not wait. @return whether
 *  the forecast follows. */
int ucs_rcache_pred_forecast_follow(ucs_rcache_pred_predictor_t *predictor,
                                    ucs_rcache_pred_forecast_t *forecast,
                                    ucs_rcache_pred_time_t now);

/** @return a forecast that has waited for a precedent, which there is now, and
 *          does not wait any more. NULL: there is none. */
ucs_rcache_pred_forecast_t *
ucs_rcache_pred_forecast_next_waiting(ucs_rcache_pred_predictor_t *predictor,
                                   uint64_t way);

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

END_C_DECLS

#endif
