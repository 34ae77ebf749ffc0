/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ahead.h"
#include "times.h"

#include <ucs/rcache_pred/cache/bound.h>
#include <ucs/rcache_pred/cache/register.h>
#include <ucs/rcache_pred/cache/slices.h>
#include <ucs/rcache_pred/cache/stale.h>
#include <ucs/rcache_pred/table/known.h>
#include <ucs/rcache_pred/table/victim.h>

#include <ucs/sys/math.h>


/* Put the region into the state REGISTERING, if it still has to be registered.
 * @return whether it has */
static int region_claim(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region,
                        const ucs_rcache_pred_range_t *wanted)
{
    ucs_rcache_pred_range_t range;
    int claimed;

    pred_lock(pred);
    range   = (wanted != NULL) ? *wanted :
                                 ucs_rcache_pred_region_expected(region);
    claimed = !region->stale && (region->in_pieces == 0) &&
              (region->state == UCS_RCACHE_PRED_REGION_IDLE);
    if (claimed) {
        ++pred->bound.ahead_now;
        ucs_rcache_pred_region_claim(&pred->table, region, &range,
                                     region->recent_access);
        pred_merge_slices(pred, region, UCS_RCACHE_PRED_BY_HELPER);
    }
    pred_unlock(pred);
    return claimed;
}

/* Register a claimed region ahead of its use. Only regions that are needed
 * later are deregistered to make room for it */
static ucs_status_t region_register(ucs_rcache_pred_t *pred,
                                    ucs_rcache_pred_region_t *region,
                                    void **memh_p,
                                    ucs_rcache_pred_time_t *end_p)
{
    pred_handle_t handle = pred_region_handle(region);
    pred_reservation_t room;
    ucs_status_t status;

    *end_p = pred_now(pred);
    room   = pred_reservation(pred, handle.start, handle.length,
                              PRED_PART_WHOLE);
    if (!pred_reserve(pred, &room, ucs_max(ucs_rcache_pred_region_deadline(region),
                                           1ul))) {
        return UCS_ERR_EXCEEDS_LIMIT;
    }

    status = pred_register(&handle, UCS_RCACHE_PRED_BY_HELPER,
                           region->flags | region->access |
                           pred->params.helper_flags, end_p);
    if (status != UCS_OK) {
        pred_bound_give(pred, &room);
    }
    *memh_p = handle.memh;
    return status;
}

/* Note the result of the attempt to register a claimed region ahead of its
 * use. */
static void region_registered(ucs_rcache_pred_t *pred,
                              ucs_rcache_pred_region_t *region,
                              ucs_status_t status, void *memh,
                              ucs_rcache_pred_time_t end)
{
    pred_lock(pred);
    --pred->bound.ahead_now;
    if (status == UCS_OK) {
        ++pred->stats.regs_helper;
        ucs_rcache_pred_region_set_memh(&pred->table, region, memh);
        region->ahead       = 1;
        region->early_until = end + (region->forecast.period / 4);
        ucs_rcache_pred_region_note(&pred->table.noted, region);
    } else {
        ucs_rcache_pred_region_unclaim(&pred->table, region);
    }
    if (region->stale) {
        ucs_rcache_pred_region_clear(&pred->table, region);
        pred_note_stale(pred);
    }
    pred_unlock(pred);
}

ucs_status_t
pred_register_ahead(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                    const ucs_rcache_pred_range_t *range)
{
    ucs_rcache_pred_time_t begin = pred_now(pred);
    void *memh                   = NULL;
    ucs_rcache_pred_time_t end;
    ucs_status_t status;

    if (!region_claim(pred, region, range)) {
        return UCS_ERR_BUSY;
    }

    status                = region_register(pred, region, &memh, &end);
    pred->rounds.outside += pred_elapsed(begin, end);
    region_registered(pred, region, status, memh, end);
    return status;
}
