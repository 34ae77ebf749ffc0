/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_HELPER_JOIN_H_
#define UCS_RCACHE_PRED_HELPER_JOIN_H_

#include <ucs/rcache_pred/cache/cache.h>

/** @file helper/join.h
 *
 * Slices that touch each other and are used in one burst: segments of a
 * pipelined message, or faces in one array. They are joined, which means that
 * one of their regions stands for all of them from then on. It is registered
 * with all of their memory, ahead of the burst or by the first use of it, and
 * given up once after it. Uses of any of the slices are uses of that region.
 *
 * Unless their comment says otherwise, these functions are called under
 * helper_mutex and without the lock. They take the lock where they touch what
 * the helper shares with uses.
 */


/** @return whether @ref pred_join_slices has to be called about a region: it could be
 *          joined, and others touch it. Under the lock. */
int pred_may_join(const ucs_rcache_pred_t *pred,
                  const ucs_rcache_pred_region_t *region,
                  ucs_rcache_pred_time_t now);

/**
 * Join a region, whose next use is predicted and which is not in use, with slices
 * around it if that is a gain and there is budget to give all of them up now. If
 * so, all are deregistered, and that one of them is put on the registration
 * queue which stands for all.
 *
 * @return whether the region was joined. If not, nothing has changed.
 */
int pred_join_slices(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                     ucs_rcache_pred_time_t now);

#endif
