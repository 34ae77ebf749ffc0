/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "bound.h"

#include <ucs/base/clock.h>
#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <inttypes.h>

/*
 * Takes room within the bounds of the domain, of this process and of the node. If there
 * is too little, makes room by deregistering idle regions, or refuses. Any thread may
 * call these functions.
 */


/* How many times a thread that waits for room lets other threads run before its request
 * is refused. The wait must end: other threads may register and deregister all the time,
 * and uses that hold the room may end only once the waiting thread goes on. */
#define RESERVE_PATIENCE 1000

/* How many idle regions of its own a process gives up at most for one use while the
 * processes have too many keys: so all of them together come back to the limit, where each
 * gives up what it needs last */
#define KEYS_PART 2


/* Count the room as taken, if it fits the bounds of this process. @return
 * whether it fits. */
static int take_own(ucs_rcache_pred_t *pred, const pred_reservation_t *room)
{
    ucs_rcache_pred_subsystem_stats_t *part =
            &pred->stats.subsystems[room->subsystem];
    ucs_rcache_pred_stats_t *stats = &pred->stats;
    ucs_rcache_pred_time_t now     = pred_now(pred);
    int has_room;

    pred_lock(pred);
    has_room = pred_bound_fits(pred, room);
    if (has_room) {
        pred_stats_advance(pred, now);
        stats->bytes_now   += room->bytes;
        stats->bytes_peak   = ucs_max(stats->bytes_peak, stats->bytes_now);
        stats->regions_now += room->regions;
        stats->regions_peak = ucs_max(stats->regions_peak, stats->regions_now);
        part->bytes_now    += room->bytes;
        part->bytes_peak    = ucs_max(part->bytes_peak, part->bytes_now);
        part->regions_now  += room->regions;
    }
    pred_unlock(pred);
    return has_room;
}

/* Take room for pieces out of the reserve that the node holds for this process. @return
 * whether enough of it was left. */
static int take_held(ucs_rcache_pred_t *pred, const pred_reservation_t *room)
{
    pred_bound_t *bound = &pred->bound;
    int held;

    pred_lock(pred);
    held = (bound->held_bytes + room->bytes <=
            ucs_rcache_pred_pieces_reserve(pred->params.page_size)) &&
           (bound->held_regions + room->regions <=
            UCS_RCACHE_PRED_NODE_RESERVE_REGIONS);
    if (held) {
        bound->held_bytes   += room->bytes;
        bound->held_regions += room->regions;
    }
    pred_unlock(pred);
    return held;
}

/* Take room within the bounds of the node. If they have none left, a piece may still take
 * room out of the reserve that the node holds for this process. @return whether there was
 *         room. */
static int take_node(ucs_rcache_pred_t *pred, pred_reservation_t *room)
{
    room->held = 0;
    if ((pred->params.node == NULL) ||
        ucs_rcache_pred_node_reserve(pred->params.node, room->bytes,
                                     room->regions)) {
        return 1;
    }

    room->held = (room->part == PRED_PART_PIECE) && take_held(pred, room);
    return room->held;
}

/* Take room if it fits the bounds of the node and of this process now, without an
 * eviction.
 * @return whether it fits; if not, room->scarce says which bound had no room. */
static int take(ucs_rcache_pred_t *pred, pred_reservation_t *room)
{
    if (!take_node(pred, room)) {
        room->scarce = PRED_SCARCE_NODE;
        return 0;
    }

    if (take_own(pred, room)) {
        return 1;
    }

    if (pred->params.node != NULL) {
        pred_bound_give_node(pred, room);
    }
    room->scarce = PRED_SCARCE_BOUND;
    return 0;
}

/* Ask the other processes of the node to give up idle memory, if the room fits the bounds
 * of this process: then a bound of the node has no room */
static void ask(ucs_rcache_pred_t *pred, const pred_reservation_t *room)
{
    int has_own_room;

    if (pred->params.node == NULL) {
        return;
    }

    pred_lock(pred);
    has_own_room              = pred_bound_fits(pred, room);
    pred->stats.refused_node += has_own_room;
    pred_unlock(pred);
    if (has_own_room) {
        ucs_rcache_pred_node_ask(pred->params.node, room->bytes, room->regions, 0);
    }
}

/* Whether a domain has limits */
static int is_limited(const ucs_rcache_pred_domain_t *domain)
{
    return (domain != NULL) && ((domain->limits.max_bytes != UINT64_MAX) ||
                                (domain->limits.max_regions != UINT64_MAX));
}

static int limits_fit(ucs_rcache_pred_t *pred, const pred_reservation_t *room)
{
    int fits;

    pred_lock(pred);
    fits = pred_limits_fit(room, 0);
    pred_unlock(pred);
    return fits;
}

/* Deregister idle regions of a domain until the room fits the limits of the domain, but at
 * most KEYS_PART for keys alone; the other processes are asked for keys besides. If
 * the room alone exceeds a limit, a registration by a use evicts all idle regions of the
 * domain, as UCX's own cache does, and a registration ahead (deadline > 0) evicts none.
 * @return 0 if the room does not fit in the end */
static int heed_limits(ucs_rcache_pred_t *pred, const pred_reservation_t *room,
                       ucs_rcache_pred_time_t deadline)
{
    const ucs_rcache_pred_domain_t *domain = room->domain;
    int is_own                             = is_limited(domain);
    unsigned given                         = 0;
    uint64_t idle                          = 0;
    int fits, lacks, wait;

    if (!is_own && ((domain == NULL) || !pred_counts_keys(domain))) {
        return 1;
    }

    if ((deadline > 0) && !pred_limits_fit(room, 1)) {
        return 0;
    }

    pred_lock(pred);
    fits  = pred_limits_fit(room, 0);
    lacks = !pred_has_key(domain);
    pred_unlock(pred);
    if (fits) {
        return 1;
    }

    while (!fits && (is_own || (given++ < KEYS_PART)) &&
           pred_evict_of(pred, domain, deadline, PRED_SCARCE_BOUND, 0, &idle, &wait)) {
        fits = limits_fit(pred, room);
    }

    if (lacks && (deadline == 0)) {
        ucs_rcache_pred_node_lacks_key(domain->limits.node, domain->limits.device,
                                       ucs_monotonic_ns());
        ucs_rcache_pred_node_ask_keys(domain->limits.node, domain->limits.device, idle);
    }
    return fits;
}

int pred_reserve(ucs_rcache_pred_t *pred, pred_reservation_t *room,
                 ucs_rcache_pred_time_t deadline)
{
    unsigned patience = RESERVE_PATIENCE;
    int given         = 0; /* Whether memory was given up for a bound of the node */
    uint64_t idle     = 0;
    uint64_t releases;
    int never, wait;

    if (!heed_limits(pred, room, deadline) && (deadline > 0)) {
        room->scarce = PRED_SCARCE_BOUND;
        return 0;
    }

    for (;;) {
        /* Other threads may give room back after take() has failed, and before evict()
         * looks for a victim. Then the number of releases has changed */
        pred_lock(pred);
        never    = pred_bound_never_fits(pred, room);
        /* Relaxed: see pred_bound_t */
        releases = ucs_relaxed_load(&pred->bound.releases);
        pred_unlock(pred);
        if (never) {
            return 0;
        }

        if (take(pred, room)) {
            if (given && (deadline == 0)) {
                /* Others may have memory that they need later: ask for as much, so that
                 * the next use finds room */
                ucs_rcache_pred_node_ask(pred->params.node, room->bytes,
                                         room->regions, idle);
            }
            return 1;
        }

        if (room->own_only && (room->scarce == PRED_SCARCE_NODE)) {
            return 0;
        }

        if (pred_evict_of(pred, NULL, deadline, room->scarce, releases, &idle,
                          &wait)) {
            given |= (room->scarce == PRED_SCARCE_NODE);
            continue;
        }

        if (deadline > 0) {
            return 0;
        }

        if (!wait || (patience-- == 0)) {
            /* Only a request for memory that is needed now makes other processes give up
             * idle memory, and no registration ahead, which has returned above */
            ask(pred, room);
            return 0;
        }

        pred_yield(pred);
    }
}

void ucs_rcache_pred_set_max_bytes(ucs_rcache_pred_t *pred, uint64_t max_bytes)
{
    int above;

    pred_lock(pred);
    pred->bound.max_bytes = max_bytes;
    above                 = (pred->stats.bytes_now > max_bytes);
    pred_unlock(pred);

    while (above && pred_evict(pred, 0, PRED_SCARCE_BOUND)) {
        pred_lock(pred);
        above = (pred->stats.bytes_now > max_bytes);
        pred_unlock(pred);
    }
    pred_publish(pred);
}

uint64_t ucs_rcache_pred_get_max_bytes(ucs_rcache_pred_t *pred)
{
    uint64_t max_bytes;

    pred_lock(pred);
    max_bytes = pred->bound.max_bytes;
    pred_unlock(pred);
    return max_bytes;
}

/* Describe the room that a subsystem asks for or gives back. @return an error for the
 * subsystem CACHE, since the cache counts its own room, and for an unknown one. */
static ucs_status_t subsystem_room(ucs_rcache_pred_subsystem_t subsystem,
                                   uint64_t bytes, uint64_t regions,
                                   pred_reservation_t *room)
{
    if ((subsystem == UCS_RCACHE_PRED_SUBSYSTEM_CACHE) ||
        (subsystem >= UCS_RCACHE_PRED_SUBSYSTEM_LAST)) {
        ucs_error("subsystem %d does not reserve room: expected %d..%d",
                  subsystem, UCS_RCACHE_PRED_SUBSYSTEM_CACHE + 1,
                  UCS_RCACHE_PRED_SUBSYSTEM_LAST - 1);
        return UCS_ERR_INVALID_PARAM;
    }

    *room = (pred_reservation_t){
        .subsystem = subsystem,
        .part      = PRED_PART_WHOLE,
        .bytes     = bytes,
        .regions   = regions
    };
    return UCS_OK;
}

ucs_status_t ucs_rcache_pred_reserve(ucs_rcache_pred_t *pred,
                                     ucs_rcache_pred_subsystem_t subsystem,
                                     uint64_t bytes, uint64_t regions)
{
    pred_reservation_t room;
    ucs_status_t status;

    status = subsystem_room(subsystem, bytes, regions, &room);
    if (status != UCS_OK) {
        return status;
    }

    if (!pred_reserve(pred, &room, 0)) {
        pred_lock(pred);
        ++pred->stats.refused;
        pred_unlock(pred);
        status = UCS_ERR_EXCEEDS_LIMIT;
    }

    pred_publish(pred);
    return status;
}

ucs_status_t ucs_rcache_pred_release(ucs_rcache_pred_t *pred,
                                     ucs_rcache_pred_subsystem_t subsystem,
                                     uint64_t bytes, uint64_t regions)
{
    pred_reservation_t room;
    ucs_status_t status;

    status = subsystem_room(subsystem, bytes, regions, &room);
    if (status != UCS_OK) {
        return status;
    }

    if (!pred_bound_give(pred, &room)) {
        ucs_error("subsystem %d releases %" PRIu64 " bytes and %" PRIu64
                  " regions, which it has not reserved", subsystem, bytes,
                  regions);
        return UCS_ERR_INVALID_PARAM;
    }

    pred_publish(pred);
    return UCS_OK;
}
