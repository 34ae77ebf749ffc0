/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_REGISTER_H_
#define UCS_RCACHE_PRED_REGISTER_H_

#include "cache.h"

#include <ucs/rcache_pred/table/victim.h>

/** @file register.h
 *
 * Registers and deregisters memory, and measures what that costs. Any thread
 * may call these functions; uses, pieces, evictions and the helper do. The lock
 * is not held while memory is being registered or deregistered.
 *
 * What could not be registered again is kept. The adapter writes to what it has
 * registered, so that memory cannot be registered while the program may not write it;
 * UCX's own cache has the registration from before. The cache has a reference to a region
 * that it guards, as if a use were under way: nobody gives the region up, and a use that
 * needs more than it has gets a region of its own. An unmap, an invalidation and a fork end
 * the guard, and so does a use for which there would be no room otherwise.
 */

/** A handle that mem_reg has returned and that its region does not have yet, or
 *  that was taken from its region to be deregistered. */
typedef struct pred_handle {
    ucs_rcache_pred_domain_t *domain;
    void                     *memh;    /**< NULL: there is no handle */
    uintptr_t                start;
    size_t                   length;
    uint64_t                 id;       /**< Generation of the region; 0: the
                                            memory is a piece */
    int                      held;     /**< Not 0: its room is part of what the
                                            node holds for this process */
    int                      offered;  /**< Not 0: its room was offered to other
                                            processes of the node */
} pred_handle_t;


/** @return whether an attempt to register memory, or the claim of a region for
 *          it, has failed for another reason than lack of room: as long as the
 *          program has the memory as it is, it will fail again. */
static inline int pred_is_unfit(ucs_status_t status)
{
    return UCS_STATUS_IS_ERR(status) && (status != UCS_ERR_NO_MEMORY) &&
           (status != UCS_ERR_NO_RESOURCE) &&
           (status != UCS_ERR_EXCEEDS_LIMIT) &&
           (status != UCS_ERR_UNSUPPORTED);
}

/** @return what has to be registered for a region, without a handle yet. It
 *          does not change while the region is REGISTERING. */
pred_handle_t pred_region_handle(const ucs_rcache_pred_region_t *region);

/** Register memory for which room was taken, and fill in its handle. Without
 *  the lock.
 *  @param [out] end_p  When the registration ended. */
ucs_status_t pred_register(pred_handle_t *handle, ucs_rcache_pred_by_t by,
                           unsigned flags, ucs_rcache_pred_time_t *end_p);

/** Take the handle of a registered region, which is IDLE from now on. The
 *  caller has to deregister the handle. Under lock. */
pred_handle_t pred_take_handle(ucs_rcache_pred_t *pred,
                               ucs_rcache_pred_region_t *region);

/** Deregister a handle that was taken, and give its room back. Without the
 *  lock. */
void pred_deregister(const pred_handle_t *handle, ucs_rcache_pred_by_t by);


/** @return how many pages of a region are registered, or about to be. */
static inline uint64_t
pred_region_pages(const ucs_rcache_pred_t *pred,
                  const ucs_rcache_pred_region_t *region)
{
    return pred_pages(pred, region->registered.start,
                      ucs_rcache_pred_range_length(&region->registered));
}

/** Guard a registered region, if it is not. Under lock.
 *  @param [in] pages  How many of its pages have lost a right. */
static inline void
pred_guard(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
           uint64_t pages)
{
    if (!region->guarded) {
        region->guarded    = 1;
        region->ahead      = 0;
        region->unwritable = pages;
        ++region->refs;
        ++pred->num_guarded;
    }
}

/** A region has just been registered, and its first use has begun if it was for one:
 *  guard it, if it has lost a right meanwhile. Under lock. */
static inline void
pred_guard_overtaken(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region)
{
    if (ucs_unlikely(region->overtaken)) {
        region->overtaken = 0;
        pred_guard(pred, region, pred_region_pages(pred, region));
    }
}

/** Guard a region no longer, if it is. If no use is under way then, the caller makes it
 *  stale, takes its handle, or has the helper decide about it. Under lock. */
static inline void
pred_unguard(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region)
{
    if (region->guarded) {
        region->guarded = 0;
        --region->refs;
        --pred->num_guarded;
        ucs_rcache_pred_region_note(&pred->table.noted, region);
    }
}

/** An attempt to register a claimed region has failed. If the memory was refused though
 *  there was room, and that of an earlier use would have served, the next registration is
 *  guarded from the end of its first use on, since it may be refused again. Under lock. */
static inline void pred_guard_failed(const ucs_rcache_pred_t *pred,
                                     ucs_rcache_pred_region_t *region,
                                     ucs_status_t status)
{
    region->frail |= (region->begin > 0) && pred_is_unfit(status) &&
                     !pred_is_on_demand(pred);
}

#endif
