/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "state.h"

#include <ucs/base/align.h>
#include <ucs/base/clock.h>
#include <ucs/host/cgroup.h>
#include <ucs/host/pressure.h>
#include <ucs/node/cpus.h>
#include <ucs/rcache_pred/api/rcache_pred.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>


/* The processors of the process by the launcher's binding, read from the first thread
 * before the program has threads of its own with other bindings. Written once. */
static cpu_set_t affinity;

/* How much processor time the control groups of this process allow. Written with
 * affinity, later only by the rounds of the helper */
static ucs_rcache_pred_quota_t quota;

/* How long processes wait for memory, and how many processes of the node give memory up; 0:
 * not known. Written with affinity, later only by the thread that does the helper's work,
 * under the mutex of its rounds */
static ucs_rcache_pred_pressure_t pressure;
static unsigned num_procs;

/* The node's processes; NULL while this process is none of them. Written under core.lock,
 * before the first domain is opened; later only read, without the lock. */
static ucs_rcache_pred_node_t *node;


void uct_predreg_seat_init(void)
{
    if (sched_getaffinity(getpid(), sizeof(affinity), &affinity) != 0) {
        CPU_ZERO(&affinity); /* The mask has fewer bits than the system has
                                processors */
        ucs_debug("no processors are known: %s", strerror(errno));
    }
    ucs_rcache_pred_quota_init(&quota, "", ucs_monotonic_ns());
    ucs_rcache_pred_pressure_init(&pressure, "", ucs_monotonic_ns());
}

ucs_status_t
uct_predreg_node_join_bounds(const uct_predreg_knobs_t *knobs)
{
    const ucs_rcache_pred_node_params_t params = {
        .max_bytes       = knobs->node_max_pinned,
        .max_regions     = knobs->node_max_regions,
        .reserve         = ucs_rcache_pred_pieces_reserve(
                                   ucs_page_size()),
        .reserve_regions = UCS_RCACHE_PRED_NODE_RESERVE_REGIONS,
        .affinity        = affinity,
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

void uct_predreg_node_reset(void)
{
    /* A fork handler frees nothing, so the child keeps the parent's sign of life. The
     * child keeps the descriptors of the parent's registrations as well: the other
     * processes count the parent's share for as long as its memory stays registered */
    node = NULL;
}

void uct_predreg_node_join(void)
{
    ucs_rcache_pred_node_params_t params = {
        .max_bytes   = UCS_RCACHE_PRED_NODE_UNLIMITED,
        .max_regions = UCS_RCACHE_PRED_NODE_UNLIMITED,
        .affinity    = affinity
    };
    ucs_status_t status;

    if (node != NULL) {
        return; /* The process has joined already, because of its bounds */
    }

    status = ucs_rcache_pred_node_join(&params, &node);
    if (status != UCS_OK) {
        ucs_debug("nothing is known of the node's processors and other processes: %s",
                  ucs_status_string(status));
        node = NULL;
    }
}

/* Keep to the quota of the control groups. If a group has used its quota up, the helper
 * gets no processor, even if one is idle; and the process can have no more than the quota
 * divided by the processes of the node */
static void keep_quota(const ucs_rcache_pred_node_seat_t *node_seat, uint64_t busy,
                       ucs_rcache_pred_seat_t *seat)
{
    double left = ucs_rcache_pred_quota_look(&quota, busy,
                                             ucs_monotonic_ns());

    if (left < node_seat->rank + 1 - UCS_RCACHE_PRED_IDLE_BUSY_PART) {
        seat->idle = 0;
    }
    seat->share = ucs_min(seat->share, quota.group.cpus / node_seat->procs);
}

void uct_predreg_seat(ucs_rcache_pred_thread_t *thread, uint64_t demand,
                      ucs_rcache_pred_seat_t *seat)
{
    uint64_t busy = ucs_rcache_pred_thread_cpu_time(thread);
    ucs_rcache_pred_node_seat_t node_seat;

    *seat = (ucs_rcache_pred_seat_t){
        .sharers = 1,
        .slice   = ucs_rcache_pred_thread_slice(thread),
        .share   = 1
    };
    if (node == NULL) {
        return; /* Nothing is known of idle processors */
    }

    ucs_rcache_pred_node_update(node, demand, busy, &node_seat);
    num_procs     = node_seat.procs;
    seat->idle    = node_seat.idle;
    seat->sharers = node_seat.sharers;
    seat->share   = node_seat.share;
    keep_quota(&node_seat, busy, seat);
    ucs_rcache_pred_thread_pin(thread, &node_seat.cpus);
}

double uct_predreg_waits(void *arg, unsigned *procs_p)
{
    uct_predreg_core_t *core = arg;
    uint64_t begin           = pressure.time;
    double part              = ucs_rcache_pred_pressure_look(&pressure, ucs_monotonic_ns());

    *procs_p = ucs_max(num_procs, 1);
    if ((part == 0) || (num_procs == 0) || !ucs_rcache_pred_pressure_can_gain(&pressure)) {
        return 0;
    }

    /* Relaxed: the number guards no other data */
    ucs_relaxed_add(&core->pressure, part * (pressure.time - begin));
    return part;
}
