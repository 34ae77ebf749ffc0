/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_NODE_H_
#define UCS_RCACHE_PRED_NODE_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <limits.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file node.h
 *
 * What the processes of one user on one node know of each other: how much
 * memory each has registered, so that all of them together keep a bound, and
 * which of them keep their helper threads where there are too few idle
 * processors (CF'11, section 5).
 *
 * Each process has a slot in shared memory, which only it writes. A process
 * that was killed gives its share back: whoever finds its slot clears it. The
 * memory is gone when the last process is, however that ended. A process that
 * runs another program (exec) without leaving keeps its share until it ends.
 *
 * The processes of a node are those of one effective user with the same IPC,
 * PID, network, user and time name spaces; others have bounds of their own.
 *
 * All functions but join, leave and abandon are thread safe and lock-free.
 */

typedef struct ucs_rcache_pred_node ucs_rcache_pred_node_t;


/** No bound. */
#define UCS_RCACHE_PRED_NODE_UNLIMITED UINT64_MAX

typedef struct ucs_rcache_pred_node_params {
    uint64_t max_bytes;   /**< Bound on the registered bytes of all processes,
                               or UNLIMITED. Each process keeps the bound it
                               was given itself */
    uint64_t max_regions; /**< Bound on registered regions, or UNLIMITED */
    uint64_t reserve;     /**< Bytes of the bound this process holds from the
                               beginning to its end, for what must not fail */
    uint64_t reserve_regions; /**< Regions of the bound, likewise */
} ucs_rcache_pred_node_params_t;


/**
 * Become one of the node's processes. May wait up to a second for others that
 * join at the same time.
 *
 * @return UCS_ERR_EXCEEDS_LIMIT if the reserve does not fit the bound beside
 *         what the others have; UCS_ERR_NO_RESOURCE if there are too many
 *         processes; UCS_ERR_UNSUPPORTED if there is no shared memory, or
 *         UCS_ERR_NO_MEMORY. Logged, naming the value.
 */
ucs_status_t
ucs_rcache_pred_node_join(const ucs_rcache_pred_node_params_t *params,
                          ucs_rcache_pred_node_t **node_p);

/** Give everything back. */
void ucs_rcache_pred_node_leave(ucs_rcache_pred_node_t *node);

/**
 * In a forked child: let go of the parent's slot without touching it.
 */
void ucs_rcache_pred_node_abandon(ucs_rcache_pred_node_t *node);


/**
 * Ask for room for so many regions with so many bytes together, before they are
 * registered; either may be 0.
 * The bounds are kept at every instant: two processes that ask at once for the
 * last room may both be refused, but never both be served. Shares of dead
 * processes are taken back before refusing, which takes some system calls for
 * each process of the node.
 *
 * @return 0 if there is no room. The others are asked to give up what they hold
 *         idle, see @ref ucs_rcache_pred_node_is_asked, unless it would never
 *         be enough: @a bytes or @a regions is above the bound, or above
 *         2^63 - 1.
 */
int ucs_rcache_pred_node_reserve(ucs_rcache_pred_node_t *node, uint64_t bytes,
                                 uint64_t regions);

/** So many regions with so many bytes, which were reserved, were
 *  deregistered. */
void ucs_rcache_pred_node_release(ucs_rcache_pred_node_t *node, uint64_t bytes,
                                  uint64_t regions);

/**
 * Whether another process has been refused room since this was last asked.
 * Takes one load of shared memory if not.
 */
int ucs_rcache_pred_node_is_asked(ucs_rcache_pred_node_t *node);


/** All processes together. */
typedef struct ucs_rcache_pred_node_totals {
    uint64_t bytes;   /**< Registered or reserved */
    uint64_t regions;
    unsigned procs;
} ucs_rcache_pred_node_totals_t;

void ucs_rcache_pred_node_get_totals(ucs_rcache_pred_node_t *node,
                                     ucs_rcache_pred_node_totals_t *totals);


/**
 * Tell the others what this process needs, and find out what that means for its
 * helper. To be called now and then, by the helper or in its place: takes some
 * system calls, and takes back the shares of processes that died.
 */
typedef struct ucs_rcache_pred_node_seat {
    unsigned  procs;       /**< Processes of the node */
    unsigned  idle_cpus;   /**< Processors that no process needs for itself */
    unsigned  rank;        /**< Of this process by demand: 0 registers most */
    unsigned  sharers;     /**< Helpers on this helper's processor, itself
                                included, if every process has a helper: n of
                                inequality (2) */
    cpu_set_t cpus;        /**< Processors this helper may run on: idle ones
                                where it is known which those are, else those
                                of the process */
} ucs_rcache_pred_node_seat_t;

/**
 * @param [in]  affinity  Processors of this process, as its launcher bound it.
 * @param [in]  demand    Bytes registered, on average of late; by which the
 *                        helpers are distributed.
 */
void ucs_rcache_pred_node_update(ucs_rcache_pred_node_t *node,
                                 const cpu_set_t *affinity, uint64_t demand,
                                 ucs_rcache_pred_node_seat_t *seat);

END_C_DECLS

#endif
