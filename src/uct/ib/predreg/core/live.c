/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "live.h"
#include "seat.h"
#include "snapshot.h"
#include "state.h"

#include <ucs/base/clock.h>
#include <ucs/debug/log_def.h>

#include <errno.h>
#include <string.h>


/* Add up what the processes of the node have registered, if the node has a
 * bound that the sum can be compared with */
static void collect_node(uct_predreg_core_t *core,
                         ucs_rcache_pred_live_state_t *state)
{
    size_t max_bytes             = core->knobs.node_max_pinned;
    ucs_rcache_pred_node_t *node = uct_predreg_node();
    ucs_rcache_pred_node_totals_t totals;

    state->node_max_bytes = UINT64_MAX;
    if ((max_bytes != SIZE_MAX) && (node != NULL)) {
        ucs_rcache_pred_node_get_totals(node, &totals);
        state->node_bytes     = totals.bytes;
        state->node_max_bytes = max_bytes;
    }
}

static void collect(void *arg, ucs_rcache_pred_live_state_t *state)
{
    uct_predreg_core_t *core = arg;

    memset(state, 0, sizeof(*state));
    state->time     = ucs_monotonic_ns();
    /* Relaxed: nothing else depends on this number */
    state->counting = atomic_load_explicit(&core->num_managed,
                                           memory_order_relaxed) > 0;
    uct_predreg_snapshot(core, &state->snapshot);
    collect_node(core, state);
    strncpy(state->command, program_invocation_short_name,
            sizeof(state->command) - 1);
}

void uct_predreg_publish(uct_predreg_core_t *core)
{
    /* Acquire: pairs with the release in uct_predreg_live_start() */
    ucs_rcache_pred_live_t *live =
            atomic_load_explicit(&core->live, memory_order_acquire);

    if (live != NULL) {
        ucs_rcache_pred_live_update(live, collect, core);
    }
}

/* UCX's virtual file system asks for the numbers that it shows */
static void take_snapshot(void *arg, ucs_rcache_pred_snapshot_t *snapshot)
{
    uct_predreg_snapshot(arg, snapshot);
}

void uct_predreg_live_start(uct_predreg_core_t *core)
{
    ucs_rcache_pred_live_t *live;
    ucs_status_t status;

    if (core->live != NULL) {
        return;
    }

    ucs_rcache_pred_vfs_add(&core->vfs, take_snapshot, core);

    status = ucs_rcache_pred_live_create(&live);
    if (status != UCS_OK) {
        ucs_debug("ucx_predreg stat will not see this process: %s, %s",
                  ucs_status_string(status), strerror(errno));
        return;
    }

    atomic_store_explicit(&core->live, live, memory_order_release);
}

void uct_predreg_live_reset(uct_predreg_core_t *core)
{
    ucs_rcache_pred_live_t *live = core->live;

    if (live != NULL) {
        ucs_rcache_pred_live_abandon(live);
        atomic_init(&core->live, NULL);
    }
}

void uct_predreg_live_stop(uct_predreg_core_t *core)
{
    /* The page of the live counters stays, since threads that still run may
     * write into it. The kernel removes it with the process */
    ucs_rcache_pred_vfs_remove(&core->vfs);
}
