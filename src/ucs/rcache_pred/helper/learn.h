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
 */
void pred_region_learn(ucs_rcache_pred_t *pred,
                       const ucs_rcache_pred_dq_entry_t *entry);

#endif
