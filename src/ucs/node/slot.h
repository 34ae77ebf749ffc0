/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_NODE_SLOT_H_
#define UCS_RCACHE_PRED_NODE_SLOT_H_

#include "node_int.h"

BEGIN_C_DECLS

/** @file slot.h
 *
 * The slots of the processes in the shared memory of a node: who has one, and
 * when it is free again. node_int.h says which process may write a slot. Uses
 * procid.h and token.h; share.c, watch.c and node.c call it.
 *
 * Threads: pred_node_num_used, the two that reap and pred_slot_get_cpus may
 * be called by any thread, and are lock-free. The others are called by one
 * thread of the slot's owner at a time.
 */

/** @return how many slots, from the first one, have ever had an owner. */
unsigned pred_node_num_used(ucs_rcache_pred_node_t *node);

/**
 * Give this process a slot, after taking back those of dead processes.
 *
 * @return UCS_ERR_NO_RESOURCE if all have other owners, logged.
 */
ucs_status_t pred_slot_take_any(ucs_rcache_pred_node_t *node);

/** Clear a slot of this process, and then set it free. */
void pred_slot_free(ucs_rcache_pred_node_slot_t *slot);

/** Set a set of processors of a slot. */
void pred_slot_set_cpus(_Atomic(uint64_t) *words, const cpu_set_t *cpus);

/** Get a set of processors of a slot. */
void pred_slot_get_cpus(const _Atomic(uint64_t) *words, cpu_set_t *cpus);

/**
 * Take back the slots, and with them the shares, of processes that died.
 *
 * @return how many.
 */
unsigned pred_node_reap(ucs_rcache_pred_node_t *node);

/** As @ref pred_node_reap, but look at a few slots only, each time at others:
 *  what a refusal may take. */
unsigned pred_node_reap_some(ucs_rcache_pred_node_t *node);

END_C_DECLS

#endif
