/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "decide.h"
#include "helper.h"

#include <ucs/rcache_pred/table/dq.h>

#include <ucs/sys/math.h>

/*
 * The queues of the helper. A region is on at most one of them: on the
 * registration queue (RQ) while it is not registered and a use is predicted, or
 * on the awaited list while it is registered and a use is awaited. Uses do not
 * touch the queues: the helper finds out that a region was used when it takes
 * the region off its queue. Here is also how a region stops being registered, and
 * how it is forgotten.
 */

/* The shortest time for which a use is awaited, ns. A use that does not come is not
 * urgent, and so the helper need not wake up at the end of each of many short periods */
#define AWAIT_MIN 4000000


void pred_dequeue(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region)
{
    if (region->queued) {
        ucs_rcache_pred_timeq_remove(region->scheduled ? &pred->rounds.rq :
                                                         &pred->rounds.awaited,
                                     &region->queue_elem);
        region->queued    = 0;
        region->scheduled = 0; /* From now on a use that finds the region unregistered
                                  is not late, but was not predicted */
    }
}

void pred_enqueue_registration(ucs_rcache_pred_t *pred,
                               ucs_rcache_pred_region_t *region,
                               ucs_rcache_pred_time_t deadline,
                               const ucs_rcache_pred_times_t *times)
{
    ucs_rcache_pred_timeq_insert(&pred->rounds.rq, &region->queue_elem, deadline,
                                 ucs_rcache_pred_spacing(times));
    region->queued    = 1;
    region->scheduled = 1;
}

void pred_enqueue_awaited(ucs_rcache_pred_t *pred,
                          ucs_rcache_pred_region_t *region,
                          ucs_rcache_pred_time_t now,
                          ucs_rcache_pred_time_t expiry)
{
    ucs_rcache_pred_timeq_insert(&pred->rounds.awaited, &region->queue_elem,
                                 ucs_max(expiry, now + AWAIT_MIN), 0);
    region->queued = 1;
}

void pred_stop_awaiting(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_timeq_t *awaited = &pred->rounds.awaited;
    ucs_rcache_pred_timeq_elem_t *elem;
    ucs_tree_node_t *node, *next;

    for (node = ucs_tree_first(awaited->tree.root); node != NULL; node = next) {
        next = ucs_tree_next(node);
        elem = ucs_container_of(node, ucs_rcache_pred_timeq_elem_t, node);
        if (elem->time > now) {
            pred_queue_region(elem)->kept = 1;
            ucs_rcache_pred_timeq_remove(awaited, elem);
            ucs_rcache_pred_timeq_insert(awaited, elem, now, 0);
        }
    }
}

ucs_rcache_pred_time_t pred_rq_due_time(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_timeq_elem_t *elem;
    ucs_rcache_pred_times_t times;

    elem = ucs_rcache_pred_timeq_head(&pred->rounds.rq);
    if (elem == NULL) {
        return UCS_RCACHE_PRED_TIME_INF;
    }

    pred_lock(pred);
    pred_region_times(pred, pred_queue_region(elem), &times);
    pred_unlock(pred);
    return ucs_rcache_pred_due_time(
            &times, ucs_rcache_pred_timeq_first(&pred->rounds.rq));
}

void pred_handle_deregister(ucs_rcache_pred_t *pred,
                            const pred_handle_t *handle)
{
    ucs_rcache_pred_time_t begin, end;

    if (handle->domain == NULL) {
        return;
    }

    begin                 = pred_now(pred);
    end                   = pred_deregister(handle, UCS_RCACHE_PRED_BY_HELPER);
    pred->rounds.outside += pred_elapsed(begin, end);
}

pred_handle_t pred_take_idle(ucs_rcache_pred_t *pred,
                             ucs_rcache_pred_extent_t *extent)
{
    return ((extent->state == UCS_RCACHE_PRED_EXTENT_REGISTERED) &&
            !ucs_rcache_pred_extent_is_used(extent)) ?
           pred_take_handle(pred, extent) : (pred_handle_t){.domain = NULL};
}

void pred_region_deregister(ucs_rcache_pred_t *pred,
                            ucs_rcache_pred_region_t *region)
{
    pred_handle_t handle;

    pred_lock(pred);
    handle = pred_take_idle(pred, &region->extent);
    pred_unlock(pred);
    pred_handle_deregister(pred, &handle);
}

void pred_forget_region(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_forecast_forget(&pred->predictor, &region->forecast);

    pred_lock(pred);
    pred_dequeue(pred, region);
    ucs_rcache_pred_dq_forget(region);
    ucs_rcache_pred_region_free(&pred->table, region);
    pred_unlock(pred);
}
