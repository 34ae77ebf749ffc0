/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_HELPER_AHEAD_H_
#define UCS_RCACHE_PRED_HELPER_AHEAD_H_

#include <ucs/rcache_pred/cache/cache.h>

/** @file helper/ahead.h
 *
 * How the helper registers a region. */

/**
 * Register a region ahead of its use, and with it what overlaps it and is not in use.
 * Under helper_mutex and without the lock.
 *
 * @param [in] range  What to register; NULL: what is expected to be used.
 * @return UCS_ERR_BUSY if it is stale, registered, or used in pieces;
 *         UCS_ERR_EXCEEDS_LIMIT if there is no room within the bounds, or the status of
 *         mem_reg if that failed. Then it is not registered.
 */
ucs_status_t
pred_register_ahead(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                    const ucs_rcache_pred_range_t *range);

/** If a bound of this process is full, the helper has a processor of its own and a budget,
 *  and most uses are not predicted: give up idle regions until there is room for the uses
 *  that come before it wakes again, as far as they are like those before. That is 1/16 of
 *  the bound at most, or what one registration takes. Where uses are predicted, each
 *  region takes its room itself when it is registered ahead. Under helper_mutex, without
 *  the lock. */
void pred_keep_room(ucs_rcache_pred_t *pred);

#endif
