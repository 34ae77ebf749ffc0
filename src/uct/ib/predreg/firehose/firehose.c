/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "firehose.h"

#include <ucs/base/align.h>
#include <ucs/rcache_pred/predict/policy.h>
#include <uct/ib/predreg/core/job.h>
#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/md/md.h>

#include <ucs/debug/log_def.h>

#include <stdatomic.h>


/* The core that the hooks work for: hooks get no state as an argument. Written when the
 * core starts */
static uct_predreg_core_t *core_of_hooks;

/* The number of requests to all Firehoses of the process, and how many of them were hits,
 * which needed no message to the peer. Relaxed: nothing else depends on the numbers. A
 * forked child clears both while it has a single thread */
static _Atomic(uint64_t) num_requests;
static _Atomic(uint64_t) num_hits;


/* @return how many bytes of the node's bound this process may pin, if each rank of the
 * job on the node gets the same share; UINT64_MAX: the node has no bound */
static uint64_t get_node_share(const uct_predreg_core_t *core, size_t page)
{
    uint64_t node = core->knobs.node_max_pinned;

    if (node == SIZE_MAX) {
        return UINT64_MAX;
    }

    node /= uct_predreg_job_local_size();
    return node - ucs_min(node, ucs_rcache_pred_pieces_reserve(page));
}

uint64_t uct_predreg_firehose_room(uct_predreg_core_t *core, unsigned domains)
{
    size_t page   = ucs_page_size();
    uint64_t max  = uct_predreg_max_bytes(&core->knobs);
    uint64_t node = get_node_share(core, page);

    if (domains == 0) {
        /* Relaxed: UCP opens the domains of a context before the context is
         * used */
        domains = atomic_load_explicit(&core->num_managed,
                                       memory_order_relaxed);
    }

    if ((core->pred == NULL) || (domains == 0) ||
        ((max == UINT64_MAX) && (node == UINT64_MAX))) {
        return UINT64_MAX;
    }

    max -= ucs_rcache_pred_bound_reserve(max, page);
    return ucs_min(max, node) / domains;
}

void uct_predreg_firehose_count(uint64_t requests, uint64_t hits)
{
    atomic_fetch_add_explicit(&num_requests, requests, memory_order_relaxed);
    atomic_fetch_add_explicit(&num_hits, hits, memory_order_relaxed);
}

static void count(uct_predreg_core_t *core, ucs_rcache_pred_snapshot_t *snapshot)
{
    snapshot->firehose_requests = atomic_load_explicit(&num_requests,
                                                       memory_order_relaxed);
    snapshot->firehose_hits     = atomic_load_explicit(&num_hits,
                                                       memory_order_relaxed);
}

static void fork_child(uct_predreg_core_t *core)
{
    atomic_init(&num_requests, 0);
    atomic_init(&num_hits, 0);
}


/* The hooks */

static int windows(void)
{
    static atomic_flag is_told = ATOMIC_FLAG_INIT;
    uct_predreg_core_t *core   = core_of_hooks;

    if (core->knobs.windows != UCT_PREDREG_WINDOWS_FIREHOSE) {
        return 0;
    }

    if ((core->pred != NULL) && uct_predreg_is_managing(core)) {
        return 1;
    }

    if (!atomic_flag_test_and_set(&is_told)) {
        ucs_warn("UCX_RCACHE_PRED_WINDOWS=firehose: memory is pinned as a "
                 "whole, since no memory is managed (POLICY, COMPONENTS, caches "
                 "of UCX)");
    }
    return 0;
}

static uint64_t room(unsigned domains)
{
    return uct_predreg_firehose_room(core_of_hooks, domains);
}

static void
start(uct_predreg_core_t *core, uct_predreg_hooks_t *hooks, ucs_status_t events)
{
    core_of_hooks         = core;
    hooks->windows        = windows;
    hooks->firehose_room  = room;
    hooks->firehose_count = uct_predreg_firehose_count;
}

const uct_predreg_addon_t uct_predreg_firehose_addon = {
    .start      = start,
    .count      = count,
    .fork_child = fork_child
};
