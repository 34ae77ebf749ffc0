/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_COMPANION_H_
#define UCS_RCACHE_PRED_COMPANION_H_

#include "policy.h"
#include "predict.h"

BEGIN_C_DECLS

/** @file companion.h
 *
 * Deadlines that count from the use of another buffer. A program is late for many reasons,
 * and what it does then is late together. So the time from a use of another buffer, which
 * comes shortly before, often says better when a region is needed than the time from the
 * region's own last use, to which all irregularities since have added up.
 *
 * A site (@ref ucs_rcache_pred_site_t) has companions: sites of other buffers that come
 * once between a use of the region at the site and the region's next use. Each has a
 * history of distances, from the end of a use of the companion to the begin of the region's next
 * use. Counted from the begin, distances would vary by the time for which the program waits
 * in the companion's use.
 * When a region is given up, its forecast follows that companion whose distances have
 * varied clearly less than what the own deadline counts from. The region waits in the
 * registration queue for longer than its own deadline says, and each use of the companion
 * moves its deadline. If no use of the companion comes, the region is registered later
 * than most of its own intervals would have asked for.
 *
 * The functions are pure; only the helper calls them, under helper_mutex. The rule and its
 * numbers are ours, and not the paper's.
 */

/**
 * A region is used again, and the helper has not learned of this use yet: add the distances
 * from the companions of its last site, and look for companions where some are missing.
 * Does nothing if the use began before the last one.
 *
 * @param [in] begin  Begin of the use.
 * @param [in] times  How long the helper's work for the region takes.
 */
void ucs_rcache_pred_companion_learn(ucs_rcache_pred_predictor_t *predictor,
                                     const ucs_rcache_pred_forecast_t *forecast,
                                     ucs_rcache_pred_time_t begin,
                                     const ucs_rcache_pred_times_t *times);

/**
 * The helper has learned of a use: from now on, the site of the use may become a companion
 * of others, and its own companions are awaited.
 *
 * @param [in] ended  When the use ended, as far as the helper knows, >= @a begin: not before
 *                    this time.
 * @param [in] now    When the helper learns of it.
 * @return the site of the use; its followers have to be moved, by @ref
 *         ucs_rcache_pred_companion_move. NULL: the use came before one that is known.
 */
ucs_rcache_pred_site_t *
ucs_rcache_pred_companion_heard(ucs_rcache_pred_predictor_t *predictor,
                                ucs_rcache_pred_forecast_t *forecast,
                                ucs_rcache_pred_time_t begin,
                                ucs_rcache_pred_time_t ended,
                                ucs_rcache_pred_time_t now);

/**
 * A region is given up until a deadline: let its forecast follow its best companion, if
 * there is a good one.
 *
 * @param [in] own  The history behind the deadline.
 * @return the deadline until a use of the companion comes; the given one if the forecast
 *         follows none.
 */
ucs_rcache_pred_time_t
ucs_rcache_pred_companion_follow(ucs_rcache_pred_predictor_t *predictor,
                                 ucs_rcache_pred_forecast_t *forecast,
                                 const ucs_rcache_pred_history_t *own,
                                 const ucs_rcache_pred_times_t *times,
                                 ucs_rcache_pred_time_t deadline);

/** The companion that a forecast follows was used, until @a ended. The region is awaited for
 *  longer, if need be. @return the region's deadline; UCS_RCACHE_PRED_TIME_INF: unknown. */
ucs_rcache_pred_time_t
ucs_rcache_pred_companion_move(ucs_rcache_pred_predictor_t *predictor,
                               ucs_rcache_pred_forecast_t *forecast,
                               ucs_rcache_pred_time_t ended);

END_C_DECLS

#endif
