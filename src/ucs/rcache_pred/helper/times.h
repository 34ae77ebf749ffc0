/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_HELPER_TIMES_H_
#define UCS_RCACHE_PRED_HELPER_TIMES_H_

#include <ucs/rcache_pred/cache/cache.h>

/** @file helper/times.h
 *
 * What the helper's work takes: as it was measured, and as it is fitted for a
 * region.
 *
 * Unless their comment says otherwise, these functions are called under
 * helper_mutex and without the lock. They take the lock where they touch what
 * the helper shares with uses.
 */


/** Get the times that the helper's work takes for one registration of a range,
 *  as they were fitted and measured. Under the lock, since any thread that
 *  registers changes the fit. */
void pred_range_times(ucs_rcache_pred_t *pred,
                      const ucs_rcache_pred_domain_t *domain,
                      const ucs_rcache_pred_range_t *range,
                      ucs_rcache_pred_times_t *times);

/** The same for all that is to be registered of a region. Under the lock. */
void pred_region_times(ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_region_t *region,
                       ucs_rcache_pred_times_t *times);

/** Begin a step of a round. @return the time. */
ucs_rcache_pred_time_t pred_step_begin(ucs_rcache_pred_t *pred);

/** End a step of a round. Its @a cost follows the time that it took, without
 *  the time in mem_reg and mem_dereg. */
void pred_step_end(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t *cost,
                   ucs_rcache_pred_time_t begin);

/** Measure, at the beginning of a round, how late the sleep before it has
 *  ended. @return that, ns; UCS_RCACHE_PRED_TIME_INF if somebody has ended it. */
ucs_rcache_pred_time_t
pred_measure_wakeup(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now);

#endif
