/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_HELPER_LEARN_H_
#define UCS_RCACHE_PRED_HELPER_LEARN_H_

#include <ucs/rcache_pred/cache/cache.h>

/** @file helper/learn.h
 *
 * What the helper learns from a use that has ended. decide.c calls this.
 */


/**
 * Add a use to the histories of its region, unless they have a later one
 * already, and count how wrong the prediction for it was. Called under
 * helper_mutex and without the lock.
 *
 * @return for which way of use there is a precedent now;
 *         0: for none. Other regions may wait for it.
 */
uint64_t pred_region_learn(ucs_rcache_pred_t *pred,
                           const ucs_rcache_pred_dq_entry_t *entry);

/** @return a region that has waited for this precedent, and does not any more;
 *          NULL if none does. Called as the former. */
ucs_rcache_pred_region_t *pred_region_next_waiting(ucs_rcache_pred_t *pred,
                                                   uint64_t way);

/** Predict the next use of a region, of which nothing is known, as it followed
 *  other uses like its last one, if any did. Called as the former. @return
 *  whether any did; else the region waits for that. */
int pred_region_follow(ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_region_t *region);

#endif
