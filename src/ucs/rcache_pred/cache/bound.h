/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_BOUND_H_
#define UCS_RCACHE_PRED_BOUND_H_

#include "cache.h"

/** @file bound.h
 *
 * Room for registrations. bound.c counts what is reserved, within the bounds of
 * this process and of the node; evict.c gives up idle regions until there is
 * room. All of it without the lock unless said, by any thread.
 */

/** What is to be registered, when room is asked for it. */
typedef enum {
    PRED_PART_WHOLE, /**< Leaves what pieces need alone */
    PRED_PART_PIECE  /**< A piece of a transfer that must get on */
} pred_part_t;


/** Room: what is asked for, and what was granted. */
typedef struct pred_reservation {
    ucs_rcache_pred_subsystem_t subsystem;
    pred_part_t                 part;
    uint64_t                    bytes;   /**< Of whole pages, as pinned */
    uint64_t                    regions;
    int                         held;    /**< Set when it is granted: it is part
                                              of what the node holds for this
                                              process; only for pieces */
} pred_reservation_t;


/** What a registration of the cache asks for. */
static inline pred_reservation_t
pred_reservation(uintptr_t start, size_t length, pred_part_t part)
{
    return (pred_reservation_t){
        .subsystem = UCS_RCACHE_PRED_SUBSYSTEM_CACHE,
        .part      = part,
        .bytes     = ucs_rcache_pred_pages(start, length) *
                     UCS_RCACHE_PRED_PAGE_SIZE,
        .regions   = 1
    };
}


/* bound.c */

/** Bring the integrals of the statistics up to now. Under lock. */
void pred_stats_advance(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now);

/** Count the room as taken from now on, if it fits the bounds as they are.
 *  @return whether it does. */
int pred_bound_take(ucs_rcache_pred_t *pred, pred_reservation_t *room);

/** What took the room is not or no longer registered.
 *  @return 0 if the subsystem has not taken so much: nothing was done. */
int pred_bound_give(ucs_rcache_pred_t *pred, const pred_reservation_t *room);

/**
 * @param [out] releases_p  How often room was given back until now.
 * @return whether so much would not fit even if nothing else were registered.
 */
int pred_bound_is_too_large(ucs_rcache_pred_t *pred,
                            const pred_reservation_t *room,
                            uint64_t *releases_p);


/* evict.c */

/** Give up an idle region whose next use is later than @a deadline, the
 *  farthest away first. @return 0 if there is none. */
int pred_evict(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t deadline);

/**
 * Find room, and count it as taken from now on. Idle regions are given up for
 * it, those with the farthest deadlines first.
 *
 * @param [in] deadline  Only regions needed later than this are given up. 0:
 *                       any idle one, and what others are deregistering, or
 *                       the helper is registering ahead, is waited for.
 * @return 0 if there is no room.
 */
int pred_reserve(ucs_rcache_pred_t *pred, pred_reservation_t *room,
                 ucs_rcache_pred_time_t deadline);

#endif
