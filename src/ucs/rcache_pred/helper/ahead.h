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

/** @return whether the helper may claim a region of this state now: it is not stale, and no
 *          use of it is under way. Under lock. */
int pred_may_claim_ahead(const ucs_rcache_pred_region_t *region,
                         ucs_rcache_pred_region_state_t state);

/**
 * Put an IDLE region that may be claimed into the state REGISTERING, so that an unmap of any
 * part of the range makes it stale. Under helper_mutex and under lock.
 *
 * @param [in] range  What to register. It was found since the lock was taken: of what was
 *                    found before, a part may have been unmapped meanwhile. Only regions that
 *                    were there by then would know, while the memory may yet be pinned,
 *                    because the hook is called before the memory is gone.
 */
void pred_claim_ahead(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                      const ucs_rcache_pred_range_t *range);

/**
 * Register a region that was claimed, and with it what overlaps it and is not in use. Under
 * helper_mutex and without the lock.
 *
 * @return UCS_ERR_BUSY if some of it was unmapped since it was claimed;
 *         UCS_ERR_EXCEEDS_LIMIT if there is no room within the bounds, or the status of
 *         mem_reg if that failed. Then it is not registered.
 */
ucs_status_t pred_register_claimed_ahead(ucs_rcache_pred_t *pred,
                                         ucs_rcache_pred_region_t *region);

/**
 * Register what is expected to be used of a region, ahead of its use, as @ref
 * pred_register_claimed_ahead does.
 *
 * @return UCS_ERR_BUSY also if it is stale, registered, or used in pieces.
 */
ucs_status_t
pred_register_ahead(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region);

/** If a bound of this process is full, the helper has a processor of its own and a budget,
 *  and most uses are not predicted: give up idle regions until there is room for the uses
 *  that come before it wakes again, as far as they are like those before. That is 1/16 of
 *  the bound at most, or what one registration takes. Where uses are predicted, each
 *  region takes its room itself when it is registered ahead. Under helper_mutex, without
 *  the lock. */
void pred_keep_room(ucs_rcache_pred_t *pred);

#endif
