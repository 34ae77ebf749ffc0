/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "stat.h"

#include <ucs/base/clock.h>
#include <uct/ib/predreg/core/addon.h>

#include <ucs/debug/log_def.h>

#include <errno.h>
#include <string.h>


/* @return the keys of the job's processes on this node, of that device of this process
 *         with the least limit; if no limit was learned, the limit is UINT64_MAX */
static ucs_rcache_pred_node_keys_t scarce_keys(void)
{
    const ucs_rcache_pred_node_t *node = uct_predreg_node();
    ucs_rcache_pred_node_keys_t keys   = {.limit = UINT64_MAX};

    if (node != NULL) {
        ucs_rcache_pred_node_get_scarce_keys(node, &keys);
    }
    return keys;
}

void uct_predreg_snapshot(uct_predreg_core_t *core,
                          ucs_rcache_pred_snapshot_t *snapshot)
{
    ucs_rcache_pred_t *pred = core->pred;
    unsigned i;

    memset(snapshot, 0, sizeof(*snapshot));
    snapshot->rank   = core->rank;
    snapshot->pid    = core->pid;
    snapshot->policy = uct_predreg_policy(core);
    /* Relaxed: the numbers guard no other data */
    snapshot->pool_bytes    = ucs_relaxed_load(&core->pool_bytes);
    for (i = 0; i < UCS_RCACHE_PRED_POOL_LAST; ++i) {
        snapshot->pool_kinds[i] = ucs_relaxed_load(&core->pool_kinds[i]);
    }
    snapshot->kernel_pinned = ucs_relaxed_load(&core->kernel_pinned);
    snapshot->keys_now      = ucs_relaxed_load(&core->keys_now);
    snapshot->keys_peak     = ucs_relaxed_load(&core->keys_peak);
    snapshot->keys_limit    = scarce_keys().limit;
    snapshot->pressure      = ucs_relaxed_load(&core->pressure);
    uct_predreg_addons_call(core, count, core, snapshot);
    if (pred == NULL) {
        snapshot->stats.uses = uct_predreg_num_passed(core);
        return;
    }

    ucs_rcache_pred_get_stats(pred, &snapshot->stats);
    snapshot->budget     = core->knobs.budget;
    snapshot->mode       = ucs_rcache_pred_get_mode(pred);
    snapshot->helper_cpu =
            ucs_rcache_pred_thread_cpu_time(core->thread);
}


/* Add up the registered memory of the node's processes, if the user has set a bound for
 * the node: otherwise nobody compares the sum with anything */
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
    /* Relaxed: the number of domains guards no other data */
    state->counting = ucs_relaxed_load(&core->num_managed) > 0;
    uct_predreg_snapshot(core, &state->snapshot);
    collect_node(core, state);
    state->node_keys = scarce_keys().keys;
    strncpy(state->command, program_invocation_short_name,
            sizeof(state->command) - 1);
}

void uct_predreg_publish(void *arg)
{
    uct_predreg_core_t *core = arg;
    /* Acquire: pairs with the release in uct_predreg_live_start() */
    ucs_rcache_pred_live_t *live =
            atomic_load_explicit(&core->live, memory_order_acquire);

    if (live != NULL) {
        ucs_rcache_pred_live_update(live, collect, core);
    }
}

/* Called by UCX's virtual file system, see core->vfs */
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
    /* The page of the live counters stays, since running threads may write to the page.
     * The kernel removes the page with the process */
    ucs_rcache_pred_vfs_remove(&core->vfs);
}
