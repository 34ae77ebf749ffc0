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
 * One bound over all that is registered: everybody who registers memory takes
 * the room for it here first, and gives it back when the memory is deregistered.
 * The bounds of the process (max_bytes, max_regions) and of the node hold over
 * the sum of all subsystems, at every instant. What the cache keeps without a
 * use gives way to the others.
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


/** What a subsystem has reserved. */
typedef struct ucs_rcache_pred_subsystem_stats {
    uint64_t bytes_now;   /**< Now, bytes */
    uint64_t bytes_peak;  /**< Maximum of bytes_now */
    uint64_t regions_now; /**< Registrations now */
} ucs_rcache_pred_subsystem_stats_t;


/**
 * Reserve room for registrations that are about to be made. Idle regions of the
 * cache are given up for it, those with the farthest deadlines first; what
 * others are just deregistering is waited for. Thread safe. May deregister
 * memory: not to be called in a memory hook or under a lock that one takes.
 *
 * A part of the bound, at most 1/16 of the bytes and one registration, stays
 * free for transfers in pieces, which must get on.
 *
 * @param [in] subsystem  Any but CACHE, which reserves for itself.
 * @param [in] bytes      Whole pages, as the kernel counts them; may be 0.
 * @param [in] regions    Registrations; may be 0, for one that grows.
 * @return UCS_ERR_EXCEEDS_LIMIT if there is no room within the bounds of this
 *         process or of the node, and giving up idle regions did not help;
 *         UCS_ERR_INVALID_PARAM for another subsystem. Nothing is reserved then.
 */
ucs_status_t ucs_rcache_pred_reserve(struct ucs_rcache_pred *pred,
                                     ucs_rcache_pred_subsystem_t subsystem,
                                     uint64_t bytes, uint64_t regions);

/**
 * Give back what was reserved, all of it or a part, after the memory was
 * deregistered. Thread safe; does not block.
 *
 * @return UCS_ERR_INVALID_PARAM, logged, if the subsystem has not reserved so
 *         much, or is CACHE: nothing is given back then, so that the bound still
 *         holds.
 */
ucs_status_t ucs_rcache_pred_release(struct ucs_rcache_pred *pred,
                                     ucs_rcache_pred_subsystem_t subsystem,
                                     uint64_t bytes, uint64_t regions);

END_C_DECLS

#endif
