/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_API_BOUND_H_
#define UCS_RCACHE_PRED_API_BOUND_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file api/bound.h
 *
 * One bound over all memory that a process registers. Every subsystem that
 * registers memory reserves room for it here first, and gives the room back
 * when the memory is deregistered. The bounds of the process (max_bytes,
 * max_regions) and of the node hold for the sum of all subsystems, at every
 * instant. When a subsystem needs room, the cache deregisters regions that no
 * use needs at the moment.
 */

struct ucs_rcache_pred;

/** Who registers memory. */
typedef enum {
    UCS_RCACHE_PRED_SUBSYSTEM_CACHE,    /**< The cache itself, pieces of
                                             transfers included */
    UCS_RCACHE_PRED_SUBSYSTEM_EAGER,    /**< Handles of small reused sends */
    UCS_RCACHE_PRED_SUBSYSTEM_ARENA,    /**< The pre-registered arena */
    UCS_RCACHE_PRED_SUBSYSTEM_FIREHOSE, /**< Memory that peers access */
    UCS_RCACHE_PRED_SUBSYSTEM_LAST
} ucs_rcache_pred_subsystem_t;


/** The room that one subsystem has reserved. */
typedef struct ucs_rcache_pred_subsystem_stats {
    uint64_t bytes_now;   /**< Bytes reserved now */
    uint64_t bytes_peak;  /**< Most bytes ever reserved at a time */
    uint64_t regions_now; /**< Registrations reserved now */
} ucs_rcache_pred_subsystem_stats_t;


/**
 * Reserve room for registrations that are about to be made. If there is not
 * enough, the cache deregisters idle regions, those with the farthest deadlines
 * first, and the call waits for deregistrations of the cache that other threads
 * have begun. Thread safe. Since it may deregister memory, it must not be
 * called in a memory hook or under a lock that a memory hook takes.
 *
 * A part of the bound, at most 1/16 of the bytes and one registration, is not
 * handed out here: it stays free for transfers in pieces, which could not go on
 * without it.
 *
 * @param [in] subsystem  Any but CACHE, which reserves for itself.
 * @param [in] bytes      Bytes of all pages that the registrations touch, since
 *                        the kernel pins whole pages; may be 0.
 * @param [in] regions    Number of registrations; 0 if a registration that
 *                        exists grows.
 * @return UCS_ERR_EXCEEDS_LIMIT if there is no room within the bounds of this
 *         process or of the node, and giving up idle regions did not help;
 *         UCS_ERR_INVALID_PARAM if @a subsystem is CACHE or unknown. On error
 *         nothing is reserved.
 */
ucs_status_t ucs_rcache_pred_reserve(struct ucs_rcache_pred *pred,
                                     ucs_rcache_pred_subsystem_t subsystem,
                                     uint64_t bytes, uint64_t regions);

/**
 * Give back all or a part of the room that a subsystem has reserved, after the
 * memory was deregistered. Thread safe; does not block.
 *
 * @return UCS_ERR_INVALID_PARAM, logged, if the subsystem is CACHE or has
 *         reserved less than that. Then nothing is given back, so that the
 *         bound still holds.
 */
ucs_status_t ucs_rcache_pred_release(struct ucs_rcache_pred *pred,
                                     ucs_rcache_pred_subsystem_t subsystem,
                                     uint64_t bytes, uint64_t regions);

END_C_DECLS

#endif
