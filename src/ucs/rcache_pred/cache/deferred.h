/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_DEFERRED_H_
#define UCS_RCACHE_PRED_DEFERRED_H_

#include "cache.h"

/** @file deferred.h
 *
 * Memory that is unmapped, by a thread that has the lock, or by the handler of
 * a signal that has interrupted such a thread.
 */

/** Let no use find a region in a range of whole pages. Under the lock.
 *  @return whether any was registered. */
int pred_unmap(ucs_rcache_pred_t *pred,
               const ucs_rcache_pred_range_t *unmapped);

/** Have pred_unmap() called for a range as soon as a thread takes the lock. To
 *  be called in the handler of a signal, by the thread that has it. */
void pred_defer(ucs_rcache_pred_t *pred,
                const ucs_rcache_pred_range_t *unmapped);

#endif
