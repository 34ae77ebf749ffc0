/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_USE_H_
#define UCS_RCACHE_PRED_USE_H_

#include "bound.h"
#include "cache.h"

/** @file cache/use.h
 *
 * Uses of memory.
 */


/* use.c
 *
 * Uses of memory: the functions of end.c, pieces.c and unmap.c. The other files
 * of cache/ call them, and so do the files on top, which add some of the
 * helper's work to the end of a use where the program does that work. The begin
 * of a use is public, see api/rcache_pred.h.
 */

/* end.c */

/**
 * End a use, and tell the helper. Without the lock.
 *
 * * @param [out] begin_p  Begin of the use that found the region idle: since then the
 *                       region was in use without a break, until this use has ended.
 *                       Written if UCS_OK is returned.
 * @return UCS_INPROGRESS, which is a success, if other uses of the region are still
 *         under way, or the region is guarded; else as @ref ucs_rcache_pred_end.
 */
ucs_status_t pred_use_end(ucs_rcache_pred_domain_t *domain, void *memh,
                          ucs_rcache_pred_time_t *begin_p);

/** Call the callbacks of all waiters for an invalidated region, which is deregistered
 *  now, and free the waiters. Without the lock. */
void pred_run_waiters(ucs_rcache_pred_waiter_t *waiters);


/* unmap.c */

/** Do what @ref ucs_rcache_pred_invalidate says. But return UCS_INPROGRESS if other
 *  uses are still under way, and write the begin, as @ref pred_use_end does. */
ucs_status_t pred_invalidate(ucs_rcache_pred_domain_t *domain, void *memh,
                             void (*cb)(void *arg), void *arg,
                             ucs_rcache_pred_time_t *begin_p);


/* claim.c
 *
 * The slow path of the begin of a use, when the use has to register its memory
 * itself. It claims a region, which no other thread registers from then on, and
 * registers the claimed region. use.c calls these functions, in any thread and
 * under the lock.
 */

/** A use that begins. The fast path keeps this structure in registers, and copies it to
 *  memory only where a function that is not inlined needs it. */
typedef struct pred_use {
    /* What the caller has asked for */
    ucs_rcache_pred_domain_t        *domain;
    ucs_rcache_pred_range_t         range;
    unsigned                        flags;
    unsigned                        access;  /**< The bits of flags that are in
                                                  access_mask */
    const ucs_rcache_pred_context_t *context;
    ucs_rcache_pred_pieces_t        *pieces; /**< NULL: the use cannot go on in
                                                  pieces */
    ucs_rcache_pred_time_t          time;    /**< When the use began */

    /* What was found out since the use began */
    uint64_t                        claims;  /**< How many claims of extents there
                                                  were when the use began to look
                                                  for a region: the use waits for no
                                                  extent claimed later */
    ucs_rcache_pred_region_t        *region; /**< NULL: there is none */
    ucs_rcache_pred_time_t          waited;  /**< How long the use has waited
                                                  for another thread that
                                                  registered the region, ns; 0:
                                                  it did not wait */
    int                             late;    /**< Not 0: the use came before the
                                                  helper had registered the
                                                  region for it */
    int                             wake;    /**< Not 0: the use wakes the helper
                                                  at its end, to clear the stale
                                                  region away */
    int                             again;   /**< Not 0: the memory was registered
                                                  before, and leave-pinned would
                                                  still have it registered. Set by
                                                  pred_claim() */
    int                             is_new;  /**< Not 0: the region was made for the
                                                  use. Set by pred_claim() */
    int                             joint;   /**< Not 0: the use registers joined
                                                  or merged slices as well, which it
                                                  does not need. Set by
                                                  pred_claim() */
    int                             beside;  /**< Not 0: memory beside it as well,
                                                  since keys are scarce. Set by
                                                  pred_claim() */
    unsigned                        result;  /**< UCS_RCACHE_PRED_RESULT_* */
    uint64_t                        id;      /**< Generation of the region; 0:
                                                  there is no region */
} pred_use_t;


/** Make a new region. Under lock, which is released for a while if the table has no room.
 *  @return NULL if there is no memory for it. */
ucs_rcache_pred_region_t *
pred_new_region(ucs_rcache_pred_domain_t *domain,
                const ucs_rcache_pred_range_t *range);

/**
 * Put the region of a use, or a new region if it has none, into the state
 * REGISTERING. Under lock, which is released for a while if the table has no
 * room for a new region.
 *
 * @param [out] old  Handle to deregister if the region was registered, but with
 *                   less length or access than the use needs; else no handle.
 * @return UCS_ERR_NO_MEMORY if there is no memory for a new region, or
 *         UCS_ERR_EXCEEDS_LIMIT if a bound never leaves room for the use. A
 *         region that is registered remains so then.
 */
ucs_status_t pred_claim(pred_use_t *use, pred_handle_t *old);

/**
 * Register a claimed region, and count how long that took. Under lock, which is
 * released meanwhile.
 *
 * @return UCS_ERR_EXCEEDS_LIMIT if there is no room, or the status of mem_reg.
 *         On error the region is IDLE.
 */
ucs_status_t pred_register_claimed(pred_use_t *use);

/**
 * Let go of the region of a use, after the region was claimed but not registered. A
 * region that was made for the use is freed here, since otherwise nobody would forget it:
 * the caller must not access the region any more. Under lock, which has been held since
 * the region became IDLE.
 */
void pred_unclaim(pred_use_t *use);


/* pieces.c */

/** @return whether it pays to register the memory of a use in pieces, since its
 *          first byte moves earlier then. Under lock. */
int pred_pieces_pay(ucs_rcache_pred_domain_t *domain,
                    const ucs_rcache_pred_range_t *range);

/** Let a use go on in pieces, and count it. Under lock.
 *  @param [in] region  The region that learns of the use; NULL: none does. */
void pred_pieces_start(const pred_use_t *use, ucs_rcache_pred_region_t *region);

#endif
