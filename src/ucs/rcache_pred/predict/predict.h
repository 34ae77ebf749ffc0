/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_PREDICT_H_
#define UCS_RCACHE_PRED_PREDICT_H_

#include <ucs/rcache_pred/cache/rcache_pred_int.h>

/** @file predict.h
 *
 * The deadline of a region, from the histories of its call sites. All
 * functions: under helper_mutex.
 */

/** Take the begin of a use into the histories. */
void pred_region_learn(ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_region_t *region,
                       const ucs_rcache_pred_dq_entry_t *entry);

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
 */
ucs_rcache_pred_time_t
pred_region_deadline(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                     ucs_rcache_pred_time_t now,
                     ucs_rcache_pred_history_t **history_p);

/** When to stop waiting for the use that @a history predicts. */
ucs_rcache_pred_time_t
pred_region_expiry(const ucs_rcache_pred_region_t *region,
                   const ucs_rcache_pred_history_t *history);

/** The use that was awaited has not come. */
void pred_region_unmet(ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_region_t *region);

/** Where the present deadline came from; NULL if that site is gone. */
ucs_rcache_pred_history_t *
pred_region_source(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region);

#endif
