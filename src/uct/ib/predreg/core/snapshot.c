/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "counters.h"
#include "sender.h"
#include "snapshot.h"
#include "state.h"

#include <string.h>


static void collect_arena(uct_predreg_core_t *core,
                          ucs_rcache_pred_snapshot_t *snapshot)
{
    /* Acquire: see events.h */
    uct_predreg_arena_t *arena = atomic_load_explicit(&core->arena.arena,
                                                      memory_order_acquire);
    uct_predreg_arena_stats_t stats;

    if (arena != NULL) {
        uct_predreg_arena_get_stats(arena, &stats);
        snapshot->arena_answered  = stats.answered;
        snapshot->arena_committed = stats.committed;
        snapshot->arena_live      = stats.live;
        snapshot->arena_refused   = stats.refused;
        snapshot->arena_zero      = stats.zero_time;
    }
}

void uct_predreg_snapshot(uct_predreg_core_t *core,
                          ucs_rcache_pred_snapshot_t *snapshot)
{
    ucs_rcache_pred_t *pred = core->pred;
    uct_predreg_eager_stats_t eager;

    memset(snapshot, 0, sizeof(*snapshot));
    snapshot->rank   = core->rank;
    snapshot->pid    = core->pid;
    snapshot->policy = uct_predreg_policy(core);
    /* Relaxed: these are numbers that nothing else depends on */
    snapshot->pool_bytes =
            atomic_load_explicit(&core->pool_bytes,
                                 memory_order_relaxed);
    snapshot->kernel_pinned =
            atomic_load_explicit(&core->kernel_pinned,
                                 memory_order_relaxed);
    uct_predreg_eager_stats(&eager);
    snapshot->eager_sends       = eager.sends;
    snapshot->eager_hot         = eager.hot;
    snapshot->eager_bytes_saved = eager.bytes_saved;
    snapshot->eager_buffers_hot = eager.buffers_hot;
    snapshot->firehose_requests =
            atomic_load_explicit(&core->firehose.requests,
                                 memory_order_relaxed);
    snapshot->firehose_hits     =
            atomic_load_explicit(&core->firehose.hits, memory_order_relaxed);
    collect_arena(core, snapshot);
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
