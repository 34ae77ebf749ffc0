/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "seat.h"

#include <ucs/base/page.h>
#include <ucs/node/notes.h>
#include <ucs/rcache_pred/api/rcache_pred.h>

#include <ucs/debug/log_def.h>

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>


/* The processors that the launcher bound this process to. They are read from
 * its first thread, before the program has threads of its own, which it may
 * bind elsewhere. Written once. */
static cpu_set_t affinity;

/* The node's processes; NULL while this process is not one of them. Written
 * under core.lock, before the first domain is opened; only later the rounds of
 * the helper read it. */
static ucs_rcache_pred_node_t *node;


void uct_predreg_seat_init(void)
{
    if (sched_getaffinity(getpid(), sizeof(affinity), &affinity) != 0) {
        CPU_ZERO(&affinity); /* The system has more processors than the mask has
                                bits */
        ucs_debug("no processors are known: %s", strerror(errno));
    }
}

ucs_status_t
uct_predreg_node_join_bounds(const uct_predreg_knobs_t *knobs)
{
    ucs_rcache_pred_node_params_t params = {
        .max_bytes       = knobs->node_max_pinned,
        .max_regions     = knobs->node_max_regions,
        .reserve         = ucs_rcache_pred_pieces_reserve(
                                   ucs_rcache_pred_page_size()),
        .reserve_regions = UCS_RCACHE_PRED_NODE_RESERVE_REGIONS,
        .bytes_name      = "UCX_RCACHE_PRED_NODE_MAX_PINNED",
        .regions_name    = "UCX_RCACHE_PRED_NODE_MAX_REGIONS"
    };

    if ((params.max_bytes == UINT64_MAX) &&
        (params.max_regions == UINT64_MAX)) {
        return UCS_OK;
    }

    return ucs_rcache_pred_node_join(&params, &node);
}

void uct_predreg_node_leave(void)
{
    if (node != NULL) {
        ucs_rcache_pred_node_leave(node);
        node = NULL;
    }
}

ucs_rcache_pred_node_t *uct_predreg_node(void)
{
    return node;
}

void uct_predreg_node_tell(uint64_t name, const uint64_t *values, unsigned num)
{
    if (node != NULL) {
        ucs_rcache_pred_node_leave_note(node, name, values, num);
    }
}

unsigned uct_predreg_node_hear(uint64_t name, uint64_t *values)
{
    /* All values of a note are written to the array of the cache, whose length is
     * UCS_RCACHE_PRED_MAX_TOLD */
    UCS_STATIC_ASSERT(UCS_RCACHE_PRED_NODE_NOTE_VALUES ==
                      UCS_RCACHE_PRED_MAX_TOLD);

    return (node == NULL) ? 0 :
           ucs_rcache_pred_node_find_note(node, name, values);
}

void uct_predreg_node_reset(void)
{
    /* Nothing is freed in a fork handler. The child keeps the parent's sign of
     * life, as it keeps the descriptors by which the parent's memory stays
     * registered, so that the share of the parent outlives it as long */
    node = NULL;
}

void uct_predreg_node_join(void)
{
    static const ucs_rcache_pred_node_params_t params = {
        .max_bytes   = UCS_RCACHE_PRED_NODE_UNLIMITED,
        .max_regions = UCS_RCACHE_PRED_NODE_UNLIMITED,
        .reserve     = 0
    };
    ucs_status_t status;

    if (node != NULL) {
        return; /* The process has joined already, because of its bounds */
    }

    status = ucs_rcache_pred_node_join(&params, &node);
    if (status != UCS_OK) {
        ucs_debug("nothing is known of the node's other processes: %s",
                  ucs_status_string(status));
        node = NULL;
    }
}

/* Fill in the seat as if there was no other process on the node: the program
 * needs one of the processors of this process, and the others are idle */
static void seat_alone(ucs_rcache_pred_seat_t *seat)
{
    unsigned count = CPU_COUNT(&affinity);

    seat->idle_cpus = (count > 1) ? (count - 1) : 0;
    seat->rank      = 0;
    seat->sharers   = 1;
}

void uct_predreg_seat(ucs_rcache_pred_thread_t *thread, uint64_t demand,
                      ucs_rcache_pred_seat_t *seat)
{
    ucs_rcache_pred_node_seat_t node_seat;

    seat->slice = ucs_rcache_pred_thread_slice(thread);
    if (node == NULL) {
        seat_alone(seat);
        return;
    }

    ucs_rcache_pred_node_update(node, &affinity, demand, &node_seat);
    seat->idle_cpus = node_seat.idle_cpus;
    seat->rank      = node_seat.rank;
    seat->sharers   = node_seat.sharers;
    ucs_rcache_pred_thread_pin(thread, &node_seat.cpus);
}
