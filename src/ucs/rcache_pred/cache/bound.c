/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "bound.h"

/*
 * Counts the memory that is registered at a time, and says what fits the bounds of this
 * process and of its node. Any thread may call these functions.
 *
 * Room is counted before its memory is registered, and until after the memory
 * was deregistered. So the count is never below what the kernel has pinned for
 * this process, and a bound on the count is a bound on the pinned memory at
 * every instant.
 */


void pred_stats_advance(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    pred_integral_t *integral = &pred->integral;

    if ((integral->time == 0) || (now <= integral->time)) {
        if (now + PRED_CLOCK_SLACK < integral->time) {
            integral->time = now; /* The clock went back */
        }
        return;
    }

    integral->byte_ns    += (unsigned __int128)pred->stats.bytes_now *
                            (now - integral->time);
    pred->stats.duration    += now - integral->time;
    pred->stats.budget_time += (now - integral->time) * integral->share;
    integral->time           = now;
}

/* The bound on registered bytes: all of it for a piece. Anything else has to leave some
 * bytes to pieces. Under lock. */
static uint64_t part_max_bytes(const ucs_rcache_pred_t *pred, pred_part_t part)
{
    uint64_t max_bytes = pred->bound.max_bytes;

    return (part == PRED_PART_PIECE) ?
           max_bytes :
           (max_bytes -
            ucs_rcache_pred_bound_reserve(max_bytes, pred->params.page_size));
}

/* The bound on registrations: all of it for a piece. Anything else has to leave one
 * registration to a piece. */
static uint64_t part_max_regions(const ucs_rcache_pred_t *pred,
                                 pred_part_t part)
{
    return pred->params.max_regions - ((part == PRED_PART_PIECE) ? 0 : 1);
}

/* Whether @a more can be added to @a now without exceeding the maximum. 0 can
 * always be added, even if the maximum was lowered below @a now. */
static int fits_below(uint64_t max, uint64_t now, uint64_t more)
{
    return (more == 0) || ((more <= max) && (now <= max - more));
}

int pred_bound_fits(const ucs_rcache_pred_t *pred,
                    const pred_reservation_t *room)
{
    return fits_below(part_max_bytes(pred, room->part), pred->stats.bytes_now,
                      room->bytes) &&
           fits_below(part_max_regions(pred, room->part),
                      pred->stats.regions_now, room->regions);
}

/* So many keys of a device the cache takes in any case: memory that is not the cache's, such
 * as windows, may have all others, and each use would give up the region of the last one */
#define LEAST_KEYS 16

int pred_has_key(const ucs_rcache_pred_domain_t *domain)
{
    return !pred_counts_keys(domain) || (domain->regions_now < LEAST_KEYS) ||
           ucs_rcache_pred_node_has_key(domain->limits.node, domain->limits.device);
}

int pred_limits_fit(const pred_reservation_t *room, int alone)
{
    const ucs_rcache_pred_domain_t *domain = room->domain;

    return (domain == NULL) ||
           (fits_below(domain->limits.max_bytes, alone ? 0 : domain->bytes_now,
                       room->length) &&
            fits_below(domain->limits.max_regions,
                       alone ? 0 : domain->regions_now, 1) &&
            (alone || pred_has_key(domain)));
}

int pred_keys_are_scarce(const ucs_rcache_pred_domain_t *domain)
{
    const ucs_rcache_pred_t *pred = domain->pred;

    return !fits_below(part_max_regions(pred, PRED_PART_WHOLE),
                       pred->stats.regions_now, 1) ||
           !fits_below(domain->limits.max_regions, domain->regions_now, 1) ||
           !pred_has_key(domain);
}

void pred_bound_give_node(ucs_rcache_pred_t *pred,
                          const pred_reservation_t *room)
{
    if (!room->held) {
        (room->offered ? ucs_rcache_pred_node_release_offered :
                         ucs_rcache_pred_node_release)
                (pred->params.node, room->bytes, room->regions);
        return;
    }

    pred_lock(pred);
    pred->bound.held_bytes   -= room->bytes;
    pred->bound.held_regions -= room->regions;
    pred_unlock(pred);
}

int pred_bound_give_own(ucs_rcache_pred_t *pred, const pred_reservation_t *room,
                        ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_subsystem_stats_t *part =
            &pred->stats.subsystems[room->subsystem];

    if ((room->bytes > part->bytes_now) ||
        (room->regions > part->regions_now)) {
        return 0;
    }

    pred_stats_advance(pred, now);
    pred->stats.bytes_now   -= room->bytes;
    pred->stats.regions_now -= room->regions;
    part->bytes_now         -= room->bytes;
    part->regions_now       -= room->regions;
    return 1;
}

int pred_bound_give(ucs_rcache_pred_t *pred, const pred_reservation_t *room)
{
    ucs_rcache_pred_time_t now = pred_now(pred);
    int is_given;

    pred_lock(pred);
    is_given = pred_bound_give_own(pred, room, now);
    pred_unlock(pred);
    if (is_given) {
        if (pred->params.node != NULL) {
            pred_bound_give_node(pred, room);
        }
        /* After the room was given back to the node as well: a thread that the node has
         * refused tries again when it sees that the number of releases has changed */
        pred_lock(pred);
        pred_bound_note_release(&pred->bound);
        pred_unlock(pred);
    }
    return is_given;
}

int pred_bound_never_fits(const ucs_rcache_pred_t *pred,
                          const pred_reservation_t *room)
{
    const ucs_rcache_pred_subsystem_stats_t *cache =
            &pred->stats.subsystems[UCS_RCACHE_PRED_SUBSYSTEM_CACHE];

    /* A piece may fit even if the node has no room: it may take the reserve that the node
     * holds for this process */
    if ((room->part != PRED_PART_PIECE) && (pred->params.node != NULL) &&
        ucs_rcache_pred_node_never_fits(pred->params.node, room->bytes,
                                        room->regions)) {
        return 1;
    }

    return !fits_below(part_max_bytes(pred, room->part),
                       pred->stats.bytes_now - cache->bytes_now, room->bytes) ||
           !fits_below(part_max_regions(pred, room->part),
                       pred->stats.regions_now - cache->regions_now,
                       room->regions);
}

int pred_range_fits(const ucs_rcache_pred_t *pred,
                    const ucs_rcache_pred_range_t *range)
{
    pred_reservation_t room = pred_reservation(pred, range, PRED_PART_WHOLE);

    return pred_bound_fits(pred, &room);
}

int pred_ranges_never_fit(const ucs_rcache_pred_t *pred,
                          const ucs_rcache_pred_range_t *range, unsigned num)
{
    pred_reservation_t room = pred_reservation(pred, range, PRED_PART_WHOLE);

    room.bytes   *= num;
    room.regions *= num;
    return pred_bound_never_fits(pred, &room);
}

int pred_range_never_fits(const ucs_rcache_pred_t *pred,
                          const ucs_rcache_pred_range_t *range)
{
    return pred_ranges_never_fit(pred, range, 1);
}
