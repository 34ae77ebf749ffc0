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
 * Uses: what end.c, pieces.c and unmap.c offer the other files of cache/, and the
 * files on top, which do the helper's work after the end of a use where that is
 * the program's. The begin of a use is public, see api/rcache_pred.h.
 */

/* pieces.c */

/** Whether the first byte of a use moves earlier if the memory is registered in
 *  pieces. Under lock. */
int pred_pieces_pay(ucs_rcache_pred_domain_t *domain, uintptr_t start,
                    size_t length);

/** A use in pieces starts. Under lock.
 *  @param [in] region  Learns of the use; NULL: nobody does. */
void pred_pieces_start(ucs_rcache_pred_domain_t *domain,
                       ucs_rcache_pred_region_t *region, uintptr_t start,
                       size_t length, ucs_rcache_pred_time_t now,
                       const ucs_rcache_pred_context_t *context,
                       ucs_rcache_pred_pieces_t *pieces);


/* end.c */

/**
 * A use ends, and the helper is told. Without the lock.
 *
 * @return UCS_INPROGRESS if other uses of the region are under way; else as
 *         @ref ucs_rcache_pred_end.
 */
ucs_status_t pred_use_end(ucs_rcache_pred_domain_t *domain, void *memh);

/** Tell those who waited that an invalidated region is deregistered. Without the
 *  lock. */
void pred_run_waiters(ucs_rcache_pred_waiter_t *waiters);


/* unmap.c */

/** As @ref ucs_rcache_pred_invalidate, but for UCS_INPROGRESS, as @ref
 *  pred_use_end. */
ucs_status_t pred_invalidate(ucs_rcache_pred_domain_t *domain, void *memh,
                             void (*cb)(void *arg), void *arg);

#endif
