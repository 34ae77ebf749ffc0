/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_CPUS_H_
#define UCS_RCACHE_PRED_CPUS_H_

#include "node.h"

BEGIN_C_DECLS

/** @file cpus.h
 *
 * Which processors of a node are idle, and which helper runs where (CF'11,
 * section 5). Uses the seat of node.h; node.c calls it.
 */

/** A process of the node. */
typedef struct ucs_rcache_pred_cpu_user {
    cpu_set_t affinity; /**< Processors it may run on. If there are none, it is
                             not known, and the process is taken for unbound */
    uint64_t  demand;   /**< Bytes it has had registered lately, on average */
} ucs_rcache_pred_cpu_user_t;


/**
 * Choose where the helper of one process may run. Pure.
 *
 * Each process needs one processor of its affinity mask for itself. Masks are
 * taken to be disjoint, equal or nested, as launchers make them; for others
 * fewer idle processors may be counted as busy than a best matching would find.
 *
 * Processes are ranked by demand, ties by their place in @a users; the paper
 * breaks them at random, any rule on which all agree will do.
 *
 * The processors in no mask go to the helpers by rank, one each, and round
 * again when there are too few. If the masks cover everything, idle processors
 * cannot be told by number: each helper stays on the processors of its process.
 *
 * @param [in]  usable  Processors of the node that this process could run on.
 *                      If there are none, it is not known, and no processor is
 *                      taken for idle.
 * @param [in]  users   All processes of the node.
 * @param [in]  self    Which of them the helper belongs to.
 * @param [out] seat    Where the helper may run.
 */
void ucs_rcache_pred_cpus_seat(const cpu_set_t *usable,
                               const ucs_rcache_pred_cpu_user_t *users,
                               unsigned num_users, unsigned self,
                               ucs_rcache_pred_node_seat_t *seat);

/**
 * Processors that a thread of this process could be bound to: those that are
 * online and in its cpuset, whatever its affinity mask is. Starts a thread.
 *
 * @param [out] usable  None if it cannot be found out.
 */
void ucs_rcache_pred_cpus_usable(cpu_set_t *usable);

END_C_DECLS

#endif
