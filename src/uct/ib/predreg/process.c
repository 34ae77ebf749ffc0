/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "entry.h"

#include <uct/ib/predreg/compat/ucm_lock.h>
#include <uct/ib/predreg/core/addon.h>
#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/iface/iface.h>
#include <uct/ib/predreg/md/md.h>
#include <uct/ib/predreg/md/domain.h>
#include <uct/ib/predreg/stat/stat.h>

#include <ucs/base/hook.h>
#include <ucs/rcache_pred/api/rcache_pred.h>

#include <pthread.h>
#include <unistd.h>


/*
 * The fork handlers. Before a fork the parent deregisters its idle regions, for two
 * reasons. On kernels that do not copy pinned pages for the child, the parent's next
 * write would give the parent a new page, while the adapter keeps using the old one. And
 * where rdma-core withholds registered memory from children (MADV_DONTFORK), the child
 * would miss the memory. A user who knows that neither reason applies turns the
 * deregistration off by UCX's own setting RCACHE_PURGE_ON_FORK=n. The child starts
 * without regions and without a helper; inherited objects of UCX belong to the parent.
 * The child lets go of its copy of the lock of UCM's memory events (compat/ucm_lock.h).
 * The child does not inherit free memory of the arena, for which it has no use.
 *
 * A signal's handler may call fork() in a thread that it has interrupted within this
 * library. The thread may hold a lock that the fork handlers would take, or a lock that
 * the helper waits for while the helper holds another one. So the fork handlers wait for
 * nothing then, and deregister nothing. Instead, from the fork on, no use finds an older
 * registration, as if all memory had been unmapped, and the parent's helper deregisters
 * the memory later: no new use makes the adapter access pages that the child has got.
 * Such a child has two disadvantages: it misses memory that rdma-core withholds from
 * children, and it inherits free memory of the arena. The child may do what POSIX allows
 * in the child of a process with threads: call functions that are safe in signal
 * handlers, and run another program or end. The child must not return from the signal's
 * handler.
 */

/* The state of the fork handlers, which get no argument. Written before the handlers are
 * installed */
static uct_predreg_core_t *forking;

/* Whether the thread forks in a signal's handler, which has interrupted a function of the
 * library. fork_prepare() writes the flag for fork_parent() and fork_child() */
static __thread int is_interrupting __attribute__((tls_model("initial-exec")));

/* Whether this thread is in a signal's handler that may have interrupted a function of
 * this library, such as a hook of memory, which takes the lock of the cache. Hooks of the
 * arena and of Firehose defer signals (ucs/base/hook.h), and are never interrupted */
static int has_interrupted(uct_predreg_core_t *core)
{
    return (uct_predreg_within > 0) || ucs_rcache_pred_is_in_round() ||
           ((core->pred != NULL) &&
            ucs_rcache_pred_is_interrupted(core->pred));
}

static void fork_prepare(void)
{
    uct_predreg_core_t *core = forking;

    uct_predreg_addons_call(core, fork_prepare, core);
    is_interrupting = has_interrupted(core);
    if (is_interrupting) {
        if (core->pred != NULL) {
            ucs_rcache_pred_unmapped(core->pred, 0, UINTPTR_MAX);
        }
        return;
    }

    /* Defer signals until the fork is over: a signal's handler in this thread could wait
     * for ever for a lock that the thread itself holds */
    ucs_hook_enter();
    ucs_mutex_lock(&core->lock);
    if (core->pred != NULL) {
        ucs_rcache_pred_quiesce(core->pred);
    }
    uct_predreg_addons_call(core, fork_calm, core);
}

static void fork_parent(void)
{
    uct_predreg_core_t *core = forking;

    if (is_interrupting) {
        return;
    }

    uct_predreg_addons_call(core, fork_parent, core);
    if (core->pred != NULL) {
        ucs_rcache_pred_resume(core->pred);
    }
    ucs_mutex_unlock(&core->lock);
    ucs_hook_leave();
}

/* In the forked child: forget all objects of the parent */
static void fork_child(void)
{
    uct_predreg_core_t *core = forking;
    unsigned i;

    ucs_rank_forget();
    /* Make the lock anew. The forking thread, the child's only thread, may hold the
     * child's copy of the lock; or another thread of the parent, absent here, would never
     * release the copy */
    ucs_mutex_init(&core->lock, UCS_RANK_CORE, 0);
    uct_predreg_ucm_lock_forked();
    uct_predreg_domains_reset();
    /* The child does not destroy the cache, which would deregister memory of the parent */
    core->pred       = NULL;
    core->thread     = NULL;
    uct_predreg_node_reset();
    uct_predreg_live_reset(core);
    core->num_opened = 0;
    atomic_init(&core->num_seen, 0);
    atomic_init(&core->num_managed, 0);
    atomic_init(&uct_predreg_devices, 0);
    uct_predreg_ifaces_reset();
    atomic_init(&core->passed_uses, 0);
    atomic_init(&core->pool_bytes, 0);
    for (i = 0; i < UCS_RCACHE_PRED_POOL_LAST; ++i) {
        atomic_init(&core->pool_kinds[i], 0);
    }
    atomic_init(&core->kernel_pinned, 0);
    atomic_init(&core->keys_now, 0);
    atomic_init(&core->keys_peak, 0);
    atomic_init(&core->pressure, 0);
    uct_predreg_foreign_reset();
    uct_predreg_addons_call(core, fork_child, core);
    core->pid = getpid(); /* Written after pred: handle_event() (core/events.c) reads pid
                             before pred */
    if (!is_interrupting) {
        ucs_hook_leave();
    }
}

ucs_status_t uct_predreg_fork_handlers_install(uct_predreg_core_t *core)
{
    forking = core;
    uct_predreg_ucm_lock_find();
    return (pthread_atfork(fork_prepare, fork_parent, fork_child) == 0) ?
           UCS_OK : UCS_ERR_NO_MEMORY;
}
