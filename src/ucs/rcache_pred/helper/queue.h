/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_HELPER_QUEUE_H_
#define UCS_RCACHE_PRED_HELPER_QUEUE_H_

#include <ucs/rcache_pred/cache/register.h>

/** @file helper/queue.h
 *
 * The queues of regions: the registration queue, and the list of regions whose
 * use is awaited. Also how a region is deregistered and forgotten, since it
 * leaves its queue then.
 *
 * Unless their comment says otherwise, these functions are called under
 * helper_mutex and without the lock. They take the lock where they touch what
 * the helper shares with uses.
 */


/** @return the region that an element of a queue belongs to. */
static inline ucs_rcache_pred_region_t *
pred_queue_region(ucs_rcache_pred_timeq_elem_t *elem)
{
    return ucs_container_of(elem, ucs_rcache_pred_region_t, queue_elem);
}

/** Take the region off its queue, if it is on one. Under the lock. */
void pred_dequeue(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region);

/** Put the region on the registration queue: it will be registered again before
 *  its deadline. Under the lock. */
void pred_enqueue_registration(ucs_rcache_pred_t *pred,
                               ucs_rcache_pred_region_t *region,
                               ucs_rcache_pred_time_t deadline,
                               const ucs_rcache_pred_times_t *times);

/** Put the region on the awaited list: its use is awaited until @a expiry, or
 *  somewhat longer. */
void pred_enqueue_awaited(ucs_rcache_pred_t *pred,
                          ucs_rcache_pred_region_t *region,
                          ucs_rcache_pred_time_t now,
                          ucs_rcache_pred_time_t expiry);

/** @return when the head of the registration queue is due, or
 *          UCS_RCACHE_PRED_TIME_INF if the queue is empty. */
ucs_rcache_pred_time_t pred_rq_due_time(ucs_rcache_pred_t *pred);

/** Take the handle of a region, unless a use of it is under way or it is not
 *  registered: then the handle has no domain. Under the lock. */
pred_handle_t pred_take_idle(ucs_rcache_pred_t *pred,
                             ucs_rcache_pred_region_t *region);

/** Deregister a handle that was taken from a region, if it has a domain. */
void pred_handle_deregister(ucs_rcache_pred_t *pred,
                            const pred_handle_t *handle);

/** Deregister the region, unless a use of it is under way. */
void pred_region_deregister(ucs_rcache_pred_t *pred,
                            ucs_rcache_pred_region_t *region);

/** Forget a region: take it off its queue and out of the table. It must be
 *  idle, and no use may find it, because it is stale or its domain is being
 *  destroyed. */
void pred_forget_region(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region);

#endif
