/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_REGISTER_H_
#define UCS_RCACHE_PRED_REGISTER_H_

#include "cache.h"

/** @file register.h
 *
 * Registration and deregistration, with what they cost. By any thread, for
 * uses, pieces, eviction and the helper. The lock is not held while the domain
 * is at work.
 */

/** A handle on its way from registration to its region, or from there to
 *  deregistration. */
typedef struct pred_handle {
    ucs_rcache_pred_domain_t *domain;
    void                     *memh;    /**< NULL: none */
    uintptr_t                start;
    size_t                   length;
    uint64_t                 id;       /**< Of the region; 0: a piece */
    int                      held;     /**< As of its room */
} pred_handle_t;


/** What is to be registered for a region. Constant while it is REGISTERING. */
pred_handle_t pred_region_handle(const ucs_rcache_pred_region_t *region);

/** Register memory for which there is room, and fill in its handle. Without the
 *  lock.
 *  @param [out] end_p  When it was done. */
ucs_status_t pred_register(pred_handle_t *handle, ucs_rcache_pred_by_t by,
                           unsigned flags, ucs_rcache_pred_time_t *end_p);

/** Take the handle of a registered region, which is IDLE from now on. Under
 *  lock. */
pred_handle_t pred_take_handle(ucs_rcache_pred_t *pred,
                               ucs_rcache_pred_region_t *region);

/** Deregister a handle that was taken and give its room back. Without the
 *  lock. */
void pred_deregister(const pred_handle_t *handle, ucs_rcache_pred_by_t by);

#endif
