/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_NODE_SHARE_H_
#define UCS_RCACHE_PRED_NODE_SHARE_H_

#include "node_int.h"

BEGIN_C_DECLS

/** @file share.h
 *
 * The share of this process in the bound of its node. node_int.h says why the
 * bound is kept without a lock. Uses slot.h; node.c calls it, and the functions
 * of node.h that share.c has are called by the cache.
 */

/**
 * Ask for room for so many bytes and regions together, without asking the
 * others to give up theirs. Any thread; lock-free.
 *
 * @return 0 if there is no room, also after taking back shares of the dead.
 */
int pred_node_reserve(ucs_rcache_pred_node_t *node, uint64_t bytes,
                      uint64_t regions);

END_C_DECLS

#endif
