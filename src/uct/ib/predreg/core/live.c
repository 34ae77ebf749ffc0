/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "live.h"
#include "seat.h"
#include "snapshot.h"
#include "state.h"

#include <ucs/debug/log_def.h>

#include <errno.h>
#include <string.h>


/* Add up what the processes of the node have registered, if the node has a
 * bound that the sum can be compared with */
static void collect_node(ucs_rcache_pred_live_state_t *state)
{
    size_t max_bytes             = uct_predreg_core.knobs.node_max_pinned;
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
    memset(state, 0, sizeof(*state));
    state->time     = ucs_rcache_pred_live_now();
    /* Relaxed: nothing else depends on this number */
    state->counting = atomic_load_explicit(&uct_predreg_core.num_managed,
                                           memory_order_relaxed) > 0;
    uct_predreg_snapshot(&state->snapshot);
    collect_node(state);
    strncpy(state->command, program_invocation_short_name,
            sizeof(state->command) - 1);
}

void uct_predreg_publish(void *arg)
{
    /* Acquire: pairs with the release in uct_predreg_live_start() */
    ucs_rcache_pred_live_t *live =
            atomic_load_explicit(&uct_predreg_core.live, memory_order_acquire);

    if (live != NULL) {
        ucs_rcache_pred_live_update(live, collect, NULL);
    }
}

void uct_predreg_live_start(void)
{
    ucs_rcache_pred_live_t *live;
    ucs_status_t status;

    if (uct_predreg_core.live != NULL) {
        return;
    }

    ucs_rcache_pred_vfs_add(&uct_predreg_core.vfs, uct_predreg_snapshot);

    status = ucs_rcache_pred_live_create(&live);
    if (status != UCS_OK) {
        ucs_debug("ucx_predreg stat will not see this process: %s, %s",
                  ucs_status_string(status), strerror(errno));
        return;
    }

    atomic_store_explicit(&uct_predreg_core.live, live, memory_order_release);
}

void uct_predreg_live_reset(void)
{
    ucs_rcache_pred_live_t *live = uct_predreg_core.live;

    if (live != NULL) {
        ucs_rcache_pred_live_abandon(live);
        atomic_init(&uct_predreg_core.live, NULL);
    }
}

void uct_predreg_live_stop(void)
{
    /* The page of the live counters stays, since threads that still run may
     * write into it. The kernel removes it with the process */
    ucs_rcache_pred_vfs_remove(&uct_predreg_core.vfs);
}
