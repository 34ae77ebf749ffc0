/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_USE_H_
#define UCS_RCACHE_PRED_USE_H_

#include "cache.h"

/** @file use.h
 *
 * Uses of memory: the functions of end.c, pieces.c and unmap.c. The other files
 * of cache/ call them, and so do the files on top, which add some of the
 * helper's work to the end of a use where the program does that work. The begin
 * of a use is public, see api/rcache_pred.h.
 */

/* pieces.c */

/** @return whether it pays to register the memory of a use in pieces, since its
 *          first byte moves earlier then. Under lock. */
int pred_pieces_pay(ucs_rcache_pred_domain_t *domain, uintptr_t start,
                    size_t length);

/** Fill in a use in pieces that starts now, and count it. Under lock.
 *  @param [in] region  The region that learns of the use; NULL: none does. */
void pred_pieces_start(ucs_rcache_pred_domain_t *domain,
                       ucs_rcache_pred_region_t *region, uintptr_t start,
                       size_t length, ucs_rcache_pred_time_t now,
                       const ucs_rcache_pred_context_t *context,
                       ucs_rcache_pred_pieces_t *pieces);


/* end.c */

/**
 * End a use, and tell the helper. Without the lock.
 *
 * @param [out] begin_p  When the use has begun, of those of the region that ended
 *                       now; written if UCS_OK is returned.
 * @return UCS_INPROGRESS if other uses of the region are still under way, which
 *         is a success; else as @ref ucs_rcache_pred_end.
 */
ucs_status_t pred_use_end(ucs_rcache_pred_domain_t *domain, void *memh,
                          ucs_rcache_pred_time_t *begin_p);

/** Call back all who have waited until an invalidated region is deregistered,
 *  and free the list of them. Without the lock. */
void pred_run_waiters(ucs_rcache_pred_waiter_t *waiters);


/* unmap.c */

/** Do what @ref ucs_rcache_pred_invalidate says, except that the status is
 *  UCS_INPROGRESS as with @ref pred_use_end if other uses are still under
 *  way, and that the begin is written as by that. */
ucs_status_t pred_invalidate(ucs_rcache_pred_domain_t *domain, void *memh,
                             void (*cb)(void *arg), void *arg,
                             ucs_rcache_pred_time_t *begin_p);

#endif
