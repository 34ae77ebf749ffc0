/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_HELPER_MODE_H_
#define UCS_RCACHE_PRED_HELPER_MODE_H_

#include <ucs/rcache_pred/cache/cache.h>

/** @file helper/mode.h
 *
 * Who does the helper's work: the thread, or the program.
 *
 * Unless their comment says otherwise, these functions are called under
 * helper_mutex and without the lock. They take the lock where they touch what
 * the helper shares with uses.
 */


/** Set the mode with which the cache starts. */
void pred_mode_init(ucs_rcache_pred_t *pred);

#endif
