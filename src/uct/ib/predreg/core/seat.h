/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_SEAT_H_
#define UCT_PREDREG_SEAT_H_

#include "knobs.h"

#include <ucs/node/node.h>
#include <ucs/rcache_pred/api/rcache_pred.h>
#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file seat.h
 *
 * This process among those of its node: the bounds they keep together, and its
 * seat, which says whether there is a processor for its helper.
 */

/** Remember which processors the launcher gave this process. Once, before the
 *  program has threads of its own. */
void uct_predreg_seat_init(void);

/**
 * Become one of the node's processes, if there is a bound to keep together.
 * Under core.lock.
 * @return UCS_OK as well if there is no such bound.
 */
ucs_status_t
uct_predreg_node_join_bounds(const uct_predreg_knobs_t *knobs);

/** Become one of the node's processes for the sake of the seat, if it is not
 *  one yet. If that fails, each process judges for itself. Under core.lock. */
void uct_predreg_node_join(void);

/** The node's processes, or NULL if this is none of them. After the first
 *  domain was opened, or under core.lock. */
ucs_rcache_pred_node_t *uct_predreg_node(void);

/** Leave the node's processes, if it is one of them. Under core.lock, before
 *  there is a cache. */
void uct_predreg_node_leave(void);

/** In a forked child: the parent is the node's process. */
void uct_predreg_node_reset(void);

/**
 * The cache asks, in each round of its helper, for the seat of this process.
 *
 * @param [in]  arg     The helper's thread.
 * @param [in]  demand  Bytes that the process had registered, which rank it
 *                      among the others.
 * @param [out] seat    What it may use now.
 */
void uct_predreg_seat(void *arg, uint64_t demand,
                      ucs_rcache_pred_seat_t *seat);

END_C_DECLS

#endif
