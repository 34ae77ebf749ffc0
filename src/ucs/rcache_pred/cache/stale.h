/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_STALE_H_
#define UCS_RCACHE_PRED_STALE_H_

#include "cache.h"

/** @file stale.h
 *
 * What a use does about memory that was unmapped and is still pinned.
 */

/**
 * Deregister stale regions without uses, before other memory is registered. The
 * helper does so too, but a program that allocates a buffer for each use would
 * by then have pinned several. UCX's own cache does the same at the begin of each
 * use (ucs_rcache_check_inv_queue() in UCX 1.13). The regions themselves are left
 * to the helper. Any thread, under the lock, which is released meanwhile.
 */
void pred_deregister_stale(ucs_rcache_pred_t *pred);

#endif
