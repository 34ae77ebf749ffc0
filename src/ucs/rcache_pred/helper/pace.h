/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_HELPER_PACE_H_
#define UCS_RCACHE_PRED_HELPER_PACE_H_

#include <ucs/rcache_pred/cache/cache.h>

/** @file helper/pace.h
 *
 * When the next round of the helper is.
 *
 * Unless their comment says otherwise, these functions are called under
 * helper_mutex and without the lock. They take the lock where they touch what
 * the helper shares with uses.
 */


/** Set the pace with which the helper starts, before any period is known. */
void pred_pace_init(ucs_rcache_pred_t *pred);

/** Adapt the pace at the beginning of a round. */
void pred_pace_round(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now);

/** Expect that, until the given time, uses will end whose regions are
 *  deregistered between uses. Meanwhile the DQ is looked at as often as the
 *  region's period asks for.
 *  @param [in] period  Period of the region; 0 if it is not known. */
void pred_expect_end(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t until,
                     ucs_rcache_pred_time_t period);

/** Make the next round due now, since there is more to do. @return the time. */
ucs_rcache_pred_time_t pred_go_on(ucs_rcache_pred_t *pred);

/** Find out when the next round is due, after all work was done. @return the
 *  time, or UCS_RCACHE_PRED_TIME_INF if none is due before somebody wakes the
 *  helper. */
ucs_rcache_pred_time_t pred_sleep(ucs_rcache_pred_t *pred);

#endif
