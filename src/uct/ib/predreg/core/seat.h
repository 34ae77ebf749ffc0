/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_SEAT_H_
#define UCT_PREDREG_SEAT_H_

#include "knobs.h"

#include <ucs/host/thread.h>
#include <ucs/node/node.h>
#include <ucs/rcache_pred/api/rcache_pred.h>
#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file seat.h
 *
 * This process as one of the processes of its node. They keep the node's bounds
 * together, and each has a seat, which says whether there is a processor for
 * the helper of that process.
 */

/** Remember which processors the launcher gave this process. To be called once,
 *  before the program has threads of its own. */
void uct_predreg_seat_init(void);

/**
 * Make this process one of the node's processes, if the knobs set a bound that
 * they keep together. To be called under core.lock.
 * @return UCS_OK, also if there is no such bound.
 */
ucs_status_t
uct_predreg_node_join_bounds(const uct_predreg_knobs_t *knobs);

/** Make this process one of the node's processes, unless it is one already, so
 *  that it has a seat. If that fails, nothing is known of idle
 *  processors, and the program does the helper's work. To be called under core.lock. */
void uct_predreg_node_join(void);

/** @return the node's processes, or NULL if this process is not one of them. To
 *  be called after the first domain was opened, or under core.lock. */
ucs_rcache_pred_node_t *uct_predreg_node(void);

/** Take this process out of the node's processes, if it is one of them. To be
 *  called under core.lock, before there is a cache. */
void uct_predreg_node_leave(void);

/** Forget the node's processes in a forked child: the parent is one of them,
 *  and the child is not. */
void uct_predreg_node_reset(void);

/**
 * Find out what the helper of this process may use now. The cache calls this in
 * each round of its helper.
 *
 * @param [in]  thread  The helper's thread.
 * @param [in]  demand  How many bytes the process had registered, by which it
 *                      is ranked among the node's processes.
 * @param [out] seat    What the helper may use now.
 */
void uct_predreg_seat(ucs_rcache_pred_thread_t *thread, uint64_t demand,
                      ucs_rcache_pred_seat_t *seat);

END_C_DECLS

#endif
