/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "bound.h"
#include "event.h"
#include "lanes.h"
#include "slices.h"
#include "use.h"

#include <ucs/rcache_pred/table/dq.h>
#include <ucs/rcache_pred/table/victim.h>

#include <stdlib.h>

/*
 * The end of a use, on the critical path. It puts an entry into the DQ; the
 * helper then decides what becomes of the region.
 */


void pred_run_waiters(ucs_rcache_pred_waiter_t *waiters)
{
    ucs_rcache_pred_waiter_t *waiter;

    while (waiters != NULL) {
        waiter  = waiters;
        waiters = waiter->next;
        waiter->cb(waiter->arg);
        free(waiter);
    }
}

/* Emit the event of the end of a use, if anybody receives events. Under
 * lock. */
static UCS_F_ALWAYS_INLINE void
use_tell_end(ucs_rcache_pred_t *pred, const ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_time_t now;

    if (pred_has_sink(pred)) {
        now = pred_now(pred);
        pred_emit_end(region->extent.domain, region->generation, now, now);
    }
}

/*
 * Deregister a region whose last use has ended, instead of leaving the region to the
 * helper: because there is no helper (on-demand), because somebody waits until the
 * invalidated region is deregistered, or because the region is spare and needs no
 * decision. Called under the lock, which is released on return.
 */
static void use_end_release(ucs_rcache_pred_t *pred,
                            ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_extent_t *extent  = &region->extent;
    ucs_rcache_pred_waiter_t *waiters = extent->waiters;
    uint64_t id                       = region->generation;
    ucs_rcache_pred_time_t begin, end;
    pred_handle_t handle;

    handle          = pred_take_handle(pred, extent);
    extent->waiters = NULL;
    if (pred_is_on_demand(pred)) {
        ucs_rcache_pred_region_free(&pred->table, region);
    }
    pred_unlock(pred);

    begin = pred_now(pred);
    pred_deregister(&handle, UCS_RCACHE_PRED_BY_USE);
    end   = pred_now(pred);

    pred_lock(pred);
    pred->stats.time_critical += pred_elapsed(begin, end);
    if (pred_has_sink(pred)) {
        pred_emit_end(handle.domain, id, begin, end);
    }
    pred_unlock(pred);

    pred_publish(pred);
    pred_run_waiters(waiters);
}

/* End a use in the lane of this thread. @return what pred_use_end() returns, or
 * UCS_ERR_BUSY if the use has to end under the lock. */
static UCS_F_NOINLINE ucs_status_t
use_end_in_lane(ucs_rcache_pred_domain_t *domain, pred_lanes_t *lanes,
                void *memh, ucs_rcache_pred_time_t *begin_p)
{
    ucs_rcache_pred_t *pred = domain->pred;
    pred_lane_t *lane       = pred_lane_find(lanes);
    ucs_status_t status     = UCS_ERR_BUSY;
    ucs_rcache_pred_region_t *region;
    ucs_rcache_pred_extent_t *extent;

    if ((lane == NULL) || (lane->skips > 0) || !pred_lane_enter(pred, lane)) {
        return UCS_ERR_BUSY;
    }

    extent = ucs_rcache_pred_table_find_memh(&pred->table, &lane->memo, domain,
                                             memh);
    if (ucs_unlikely((extent == NULL) || (extent->lane != lane->number) ||
                     !ucs_rcache_pred_extent_is_used(extent) || extent->stale ||
                     extent->maybe_spare || extent->frail ||
                     !pred_lane_has_room(
                             lane, ucs_rcache_pred_region_of(extent)))) {
        goto out;
    }

    region = ucs_rcache_pred_region_of(extent);
    if (--region->refs > 0) {
        status = UCS_INPROGRESS;
        goto out;
    }

    *begin_p = region->begin;
    ucs_rcache_pred_dq_push_last_use(&lane->dq, region);
    ucs_rcache_pred_region_note(&lane->noted, region);
    status = UCS_OK;

out:
    pred_lane_leave(lane);
    return status;
}

static ucs_status_t
use_end_locked(ucs_rcache_pred_domain_t *domain, void *memh,
               ucs_rcache_pred_time_t *begin_p)
{
    ucs_rcache_pred_t *pred = domain->pred;
    ucs_rcache_pred_region_t *region;
    ucs_rcache_pred_extent_t *extent;

    pred_lock(pred);
    extent = ucs_rcache_pred_table_find_memh(&pred->table, &pred->table.memo,
                                             domain, memh);
    if (ucs_unlikely((extent == NULL) ||
                     !ucs_rcache_pred_extent_is_used(extent))) {
        pred_unlock(pred);
        return UCS_ERR_NO_ELEM;
    }

    region = ucs_rcache_pred_region_of(extent);
    if (--region->refs > 0) {
        use_tell_end(pred, region);
        pred_unlock(pred);
        return UCS_INPROGRESS;
    }

    if (ucs_unlikely(extent->frail && !extent->stale)) {
        pred_guard(pred, extent, pred_pages(pred, &extent->range));
        use_tell_end(pred, region);
        pred_unlock(pred);
        return UCS_INPROGRESS;
    }

    *begin_p = region->begin;
    if (ucs_unlikely(extent->stale)) {
        ucs_rcache_pred_region_clear(&pred->table, region);
        pred_note_stale(pred);
    }

    /* A waiter comes from an invalidation, which has made the extent stale as well: a
     * hit, which is not stale, need not read waiters */
    if (ucs_unlikely(pred_is_on_demand(pred) ||
                     (extent->stale && (extent->waiters != NULL)))) {
        use_end_release(pred, region);
    } else {
        ucs_rcache_pred_dq_push_last_use(&pred->dq, region);
        if (ucs_unlikely(extent->maybe_spare && !extent->stale &&
                         pred_is_slice_spare(extent))) {
            use_end_release(pred, region);
        } else {
            use_tell_end(pred, region);
            ucs_rcache_pred_region_note(&pred->table.noted, region);
            pred_unlock(pred);
        }
    }

    return UCS_OK;
}

ucs_status_t pred_use_end(ucs_rcache_pred_domain_t *domain, void *memh,
                          ucs_rcache_pred_time_t *begin_p)
{
    ucs_rcache_pred_t *pred = domain->pred;
    ucs_status_t status     = UCS_ERR_BUSY;
    pred_lanes_t *lanes;

    /* Acquire: pairs with the release in pred_lane_take() */
    lanes = atomic_load_explicit(&pred->lanes, memory_order_acquire);
    if (ucs_unlikely(lanes != NULL)) {
        status = use_end_in_lane(domain, lanes, memh, begin_p);
    }

    if (ucs_likely(status == UCS_ERR_BUSY)) {
        status = use_end_locked(domain, memh, begin_p);
    }

    if (ucs_likely(status == UCS_OK)) {
        pred_wake(pred);
    }
    return status;
}
