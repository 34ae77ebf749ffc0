/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "decide.h"
#include "helper.h"
#include "spend.h"

#include <ucs/rcache_pred/cache/bound.h>
#include <ucs/rcache_pred/cache/slices.h>
#include <ucs/rcache_pred/table/known.h>
#include <ucs/rcache_pred/table/victim.h>

#include <ucs/sys/math.h>

/* pred_keep_room() keeps at most this part of a bound free, 1/16, or the room of one
 * registration, whichever is more */
#define ROOM_SHARE 16

/* With each round, the room that uses are expected to take falls by this part at most,
 * 1/32 */
#define ROOM_FADE 32


int pred_may_claim_ahead(const ucs_rcache_pred_region_t *region,
                         ucs_rcache_pred_extent_state_t state)
{
    return !region->extent.stale && (region->in_pieces == 0) &&
           (region->refs == 0) && (region->extent.state == state);
}

void pred_claim_ahead(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                      const ucs_rcache_pred_range_t *range)
{
    ++pred->bound.ahead_now;
    ucs_rcache_pred_extent_claim(&pred->table, &region->extent, range,
                                 region->recent_access);
}

/* @return the time after which an idle region has to be needed to give way to a region
 * that is registered ahead of its use; INF: none gives way. A region that was itself
 * evicted takes only free room where the program does the helper's work or shares its
 * processor with the helper: there the program would wait for the evictions */
static ucs_rcache_pred_time_t
victims_after(const ucs_rcache_pred_t *pred,
              const ucs_rcache_pred_region_t *region)
{
    return (region->extent.evicted && !pred_spend_has_own_cpu(pred)) ?
           UCS_RCACHE_PRED_TIME_INF :
           ucs_max(ucs_rcache_pred_region_deadline(region), 1ul);
}

/* Extend a claimed region to the extents that overlap it, and register the region, unless
 * a part of it was unmapped meanwhile */
static ucs_status_t region_register(ucs_rcache_pred_t *pred,
                                    ucs_rcache_pred_region_t *region,
                                    void **memh_p,
                                    ucs_rcache_pred_time_t *end_p)
{
    ucs_rcache_pred_extent_t *extent = &region->extent;
    pred_reservation_t room;
    pred_handle_t handle;
    ucs_status_t status;
    int stale;

    pred_lock(pred);
    pred_merge_slices(pred, extent, UCS_RCACHE_PRED_BY_HELPER);
    stale = extent->stale;
    pred_unlock(pred);

    *end_p = pred_now(pred);
    if (stale) {
        return UCS_ERR_BUSY;
    }

    handle = pred_extent_handle(extent);
    room   = pred_domain_reservation(handle.domain, &handle.range,
                                     PRED_PART_WHOLE);
    if (!pred_reserve(pred, &room, victims_after(pred, region))) {
        return UCS_ERR_EXCEEDS_LIMIT;
    }

    status = pred_register(&handle, UCS_RCACHE_PRED_BY_HELPER,
                           extent->flags | extent->access |
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
    ucs_rcache_pred_extent_t *extent = &region->extent;

    pred_lock(pred);
    --pred->bound.ahead_now;
    if (status == UCS_OK) {
        ++pred->stats.regs_helper;
        ucs_rcache_pred_extent_set_memh(&pred->table, extent, memh);
        extent->ahead       = 1;
        extent->early_until = end + (region->forecast.period / 4);
        pred_guard_overtaken(pred, extent);
        ucs_rcache_pred_region_note(&pred->table.noted, region);
    } else {
        pred_guard_failed(pred, extent, status);
        ucs_rcache_pred_extent_unclaim(&pred->table, extent);
    }
    if (extent->stale) {
        ucs_rcache_pred_region_clear(&pred->table, region);
        pred_note_stale(pred);
    }
    pred_unlock(pred);
}

ucs_status_t pred_register_claimed_ahead(ucs_rcache_pred_t *pred,
                                         ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_time_t begin = pred_now(pred);
    void *memh                   = NULL;
    ucs_rcache_pred_time_t end;
    ucs_status_t status;

    status                = region_register(pred, region, &memh, &end);
    pred->rounds.outside += pred_elapsed(begin, end);
    region_registered(pred, region, status, memh, end);
    return status;
}

ucs_status_t
pred_register_ahead(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_range_t expected;
    int may_claim;

    pred_lock(pred);
    may_claim = pred_may_claim_ahead(region, UCS_RCACHE_PRED_EXTENT_IDLE);
    if (may_claim) {
        expected = ucs_rcache_pred_region_expected(region);
        pred_claim_ahead(pred, region, &expected);
    }
    pred_unlock(pred);
    return may_claim ? pred_register_claimed_ahead(pred, region) :
                       UCS_ERR_BUSY;
}

/* @return the room that uses will take before the next round: as much as they have taken
 * lately from one round to the next, within the limits of ROOM_SHARE. */
static pred_reservation_t wanted_room(ucs_rcache_pred_t *pred)
{
    pred_rounds_t *rounds   = &pred->rounds;
    pred_bound_t *bound     = &pred->bound;
    pred_reservation_t room = {.part = PRED_PART_WHOLE};
    uint64_t least;

    pred_lock(pred);
    rounds->room_bytes   = ucs_max(bound->taken_bytes,
                                   rounds->room_bytes -
                                   (rounds->room_bytes / ROOM_FADE));
    rounds->room_regions = ucs_max(bound->taken_regions,
                                   rounds->room_regions -
                                   ((rounds->room_regions + ROOM_FADE - 1) /
                                    ROOM_FADE));
    bound->taken_bytes   = 0;
    bound->taken_regions = 0;
    least                = rounds->room_bytes / ucs_max(rounds->room_regions, 1u);
    room.bytes           = ucs_min(rounds->room_bytes,
                                   ucs_max(bound->max_bytes / ROOM_SHARE, least));
    room.regions         = ucs_min(rounds->room_regions,
                                   ucs_max(pred->params.max_regions / ROOM_SHARE,
                                           1u));
    pred_unlock(pred);
    return room;
}

void pred_keep_room(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_time_t begin;
    pred_reservation_t room;
    int fits;

    if (!pred_spend_is_full(pred, pred->rounds.last)) {
        return; /* Nearly all rounds end here */
    }

    begin = pred_now(pred);
    room  = wanted_room(pred);
    if (!pred_spend_has_own_cpu(pred) || pred_spend_is_foretold(pred) ||
        (pred->params.budget == 0)) {
        return;
    }

    do {
        pred_lock(pred);
        fits = (room.regions == 0) || pred_bound_fits(pred, &room);
        pred_unlock(pred);
    } while (!fits && pred_evict(pred, begin + pred->rounds.poll_interval,
                                 PRED_SCARCE_BOUND));
    pred->rounds.outside += pred_elapsed(begin, pred_now(pred));
}
