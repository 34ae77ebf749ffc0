/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_NODE_WATCH_H_
#define UCS_RCACHE_PRED_NODE_WATCH_H_

#include "node_int.h"

BEGIN_C_DECLS

/** @file watch.h
 *
 * Looks for all processes of the node who has which processor. One process at a time
 * does it, and writes the seats of all: the kernel takes milliseconds for its counts
 * where there are hundreds of processors. Uses idle.h, cpus.h and slot.h; node.c calls
 * it, one thread at a time.
 */

/** Look, if it is time to and no other process does. */
void pred_node_watch(ucs_rcache_pred_node_t *node, uint64_t now);

/** @return what this process has, as the last look has found. */
pred_node_word_t pred_node_get_seat(const ucs_rcache_pred_node_t *node);

END_C_DECLS

#endif
