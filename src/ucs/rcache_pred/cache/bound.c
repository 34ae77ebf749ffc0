/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "rcache_pred_int.h"

#include <ucs/sys/math.h>

/*
 * Room for registrations: the bounds on what is registered at a time, by this
 * process and by all of the node, and what is given up to keep them. Any
 * thread.
 *
 * What is counted is registered, or about to be, or not yet deregistered: the
 * count is never below what the kernel has pinned for us, so that a bound on it
 * is a bound at every instant.
 */


/* Times that others are waited for. They may go on registering and deregistering
 * for ever, while what is in the way are uses that end when the waiting thread
 * gets on. */
#define RESERVE_PATIENCE 1000


void pred_stats_advance(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    if ((pred->stats_time == 0) || (now <= pred->stats_time)) {
        return;
    }

    pred->byte_ns        += (unsigned __int128)pred->stats.bytes_now *
                            (now - pred->stats_time);
    pred->stats.duration += now - pred->stats_time;
    pred->stats_time      = now;
}

/* How many bytes may be registered after such a part was added. Under the
 * lock */
static uint64_t part_max_bytes(const ucs_rcache_pred_t *pred, pred_part_t part)
{
    return (part == PRED_PART_PIECE) ?
           pred->max_bytes :
           (pred->max_bytes - ucs_rcache_pred_bound_reserve(pred->max_bytes));
}

/* Under the lock */
static int fits(const ucs_rcache_pred_t *pred, uint64_t bytes, pred_part_t part)
{
    uint64_t max_bytes = part_max_bytes(pred, part);
    unsigned regions   = (part == PRED_PART_PIECE) ? 0 : 1;

    return (bytes <= max_bytes) &&
           (pred->stats.bytes_now <= max_bytes - bytes) &&
           (pred->stats.regions_now + regions < pred->params.max_regions);
}

/* Count it, if it fits the bounds of this process */
static int reserve_own(ucs_rcache_pred_t *pred, uint64_t bytes,
                       pred_part_t part)
{
    ucs_rcache_pred_stats_t *stats = &pred->stats;
    ucs_rcache_pred_time_t now     = pred_now(pred);
    int room;

    ucs_spin_lock(&pred->lock);
    room = fits(pred, bytes, part);
    if (room) {
        pred_stats_advance(pred, now);
        stats->bytes_now   += bytes;
        stats->bytes_peak   = ucs_max(stats->bytes_peak, stats->bytes_now);
        stats->regions_now += 1;
        stats->regions_peak = ucs_max(stats->regions_peak, stats->regions_now);
    }
    ucs_spin_unlock(&pred->lock);
    return room;
}

static void release_node(ucs_rcache_pred_t *pred, uint64_t bytes, int held)
{
    if (pred->params.node == NULL) {
        return;
    }

    if (!held) {
        ucs_rcache_pred_node_release(pred->params.node, bytes);
        return;
    }

    ucs_spin_lock(&pred->lock);
    pred->held_bytes   -= bytes;
    pred->held_regions -= 1;
    ucs_spin_unlock(&pred->lock);
}

/* Pieces may use what is held for this process, if there is no other room */
static int reserve_node(ucs_rcache_pred_t *pred, uint64_t bytes,
                        pred_part_t part, int *held_p)
{
    *held_p = 0;
    if ((pred->params.node == NULL) ||
        ucs_rcache_pred_node_reserve(pred->params.node, bytes)) {
        return 1;
    }

    if (part != PRED_PART_PIECE) {
        return 0;
    }

    ucs_spin_lock(&pred->lock);
    *held_p = (pred->held_bytes + bytes <= UCS_RCACHE_PRED_NODE_RESERVE) &&
              (pred->held_regions < UCS_RCACHE_PRED_NODE_RESERVE_REGIONS);
    if (*held_p) {
        pred->held_bytes   += bytes;
        pred->held_regions += 1;
    }
    ucs_spin_unlock(&pred->lock);
    return *held_p;
}

/* Count it, if it fits the bounds of this process and of the node */
static int reserve(ucs_rcache_pred_t *pred, uint64_t bytes, pred_part_t part,
                   int *held_p)
{
    if (!reserve_node(pred, bytes, part, held_p)) {
        return 0;
    }

    if (reserve_own(pred, bytes, part)) {
        return 1;
    }

    release_node(pred, bytes, *held_p);
    return 0;
}

/* The idle region whose next use is farthest away, of those later than the
 * deadline; of equals that which was used longest ago. Under the lock. */
static ucs_rcache_pred_region_t *
find_victim(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t deadline)
{
    ucs_rcache_pred_region_t *victim     = NULL;
    ucs_rcache_pred_time_t victim_latest = deadline;
    ucs_rcache_pred_region_t *region;
    unsigned i;

    for (i = 0; i < pred->table.count; ++i) {
        region = pred->table.sorted[i];
        if ((region->state != UCS_RCACHE_PRED_REGION_REGISTERED) ||
            (region->refs > 0)) {
            continue;
        }

        if ((region->deadline > victim_latest) ||
            ((victim != NULL) && (region->deadline == victim_latest) &&
             (region->begin < victim->begin))) {
            victim        = region;
            victim_latest = region->deadline;
        }
    }

    return victim;
}

/*
 * Give up one region.
 *
 * @param [in]  releases  Number of releases when room was last asked for.
 * @param [out] wait_p    If there is none to give up: whether there is or will
 *                        be room or a region to give up nevertheless.
 */
static int evict(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t deadline,
                 uint64_t releases, int *wait_p)
{
    ucs_rcache_pred_region_t *victim;
    pred_handle_t handle;

    ucs_spin_lock(&pred->lock);
    victim = find_victim(pred, deadline);
    if (victim == NULL) {
        *wait_p = (pred->releasing > 0) || (pred->ahead_now > 0) ||
                  (pred->releases != releases);
        ucs_spin_unlock(&pred->lock);
        return 0;
    }

    handle = pred_take_handle(pred, victim);
    ++pred->stats.evictions;
    ucs_spin_unlock(&pred->lock);

    pred_deregister(&handle, UCS_RCACHE_PRED_BY_USE);
    return 1;
}

int pred_evict(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t deadline)
{
    int wait;

    return evict(pred, deadline, 0, &wait);
}

/*
 * Whether so much would not fit even if nothing else were registered.
 *
 * @param [out] releases_p  Number of releases until now.
 */
static int is_too_large(ucs_rcache_pred_t *pred, uint64_t bytes,
                        pred_part_t part, uint64_t *releases_p)
{
    int too_large;

    ucs_spin_lock(&pred->lock);
    too_large   = (bytes > part_max_bytes(pred, part));
    *releases_p = pred->releases;
    ucs_spin_unlock(&pred->lock);
    return too_large;
}

int pred_reserve(ucs_rcache_pred_t *pred, uintptr_t start, size_t length,
                 pred_part_t part, ucs_rcache_pred_time_t deadline,
                 int *held_p)
{
    uint64_t bytes = pred_page_bytes(start, length);
    unsigned patience = RESERVE_PATIENCE;
    uint64_t releases;
    int wait;

    for (;;) {
        /* What is in the way now may be gone before victims are looked for: it
         * shows in the number of releases */
        if (is_too_large(pred, bytes, part, &releases)) {
            return 0;
        }

        if (reserve(pred, bytes, part, held_p)) {
            return 1;
        }

        if (evict(pred, deadline, releases, &wait)) {
            continue;
        }

        if ((deadline > 0) || !wait || (patience-- == 0)) {
            return 0;
        }

        pred_yield(pred);
    }
}

void pred_unreserve(ucs_rcache_pred_t *pred, uintptr_t start, size_t length,
                    int held)
{
    ucs_rcache_pred_time_t now = pred_now(pred);
    uint64_t bytes             = pred_page_bytes(start, length);

    ucs_spin_lock(&pred->lock);
    pred_stats_advance(pred, now);
    pred->stats.bytes_now   -= bytes;
    pred->stats.regions_now -= 1;
    ++pred->releases;
    ucs_spin_unlock(&pred->lock);

    release_node(pred, bytes, held);
}

void ucs_rcache_pred_set_max_bytes(ucs_rcache_pred_t *pred, uint64_t max_bytes)
{
    int above;

    ucs_spin_lock(&pred->lock);
    pred->max_bytes = max_bytes;
    above           = (pred->stats.bytes_now > max_bytes);
    ucs_spin_unlock(&pred->lock);

    while (above && pred_evict(pred, 0)) {
        ucs_spin_lock(&pred->lock);
        above = (pred->stats.bytes_now > max_bytes);
        ucs_spin_unlock(&pred->lock);
    }
    pred_publish(pred);
}
