/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "event.h"
#include "register.h"
#include "slices.h"
#include "use.h"

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
        pred_emit_end(region->domain, region->generation, now, now);
    }
}

/*
 * Deregister a region whose last use has ended and which is not left to the
 * helper: because there is no helper (on-demand), because somebody waits until
 * the invalidated region is deregistered, or because it is spare, which is no
 * matter of the budget that the helper has to keep. Called under the lock,
 * which is released on return.
 */
static void use_end_release(ucs_rcache_pred_t *pred,
                            ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_waiter_t *waiters = region->waiters;
    uint64_t id                       = region->generation;
    ucs_rcache_pred_time_t begin, end;
    pred_handle_t handle;

    handle          = pred_take_handle(pred, region);
    region->waiters = NULL;
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

ucs_status_t pred_use_end(ucs_rcache_pred_domain_t *domain, void *memh)
{
    ucs_rcache_pred_t *pred = domain->pred;
    ucs_rcache_pred_dq_entry_t entry;
    ucs_rcache_pred_region_t *region;

    pred_lock(pred);
    region = ucs_rcache_pred_table_find_memh(&pred->table, domain, memh);
    if (ucs_unlikely((region == NULL) || (region->refs == 0))) {
        pred_unlock(pred);
        return UCS_ERR_NO_ELEM;
    }

    if (--region->refs > 0) {
        use_tell_end(pred, region);
        pred_unlock(pred);
        return UCS_INPROGRESS;
    }

    if (ucs_unlikely(region->stale)) {
        ucs_rcache_pred_region_clear(&pred->table, region);
        pred_note_stale(pred);
    }

    if (ucs_unlikely(pred_is_on_demand(pred) || (region->waiters != NULL))) {
        use_end_release(pred, region);
    } else {
        entry = pred_last_use(region);
        ucs_rcache_pred_dq_push(&pred->dq, &entry);
        if (ucs_unlikely(region->maybe_spare && !region->stale &&
                         pred_is_slice_spare(region))) {
            use_end_release(pred, region);
        } else {
            use_tell_end(pred, region);
            ucs_rcache_pred_region_note(&pred->table, region);
            pred_unlock(pred);
        }
    }

    pred_wake(pred);
    return UCS_OK;
}
