/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "entry.h"

#include <uct/ib/predreg/arena/calls.h>
#include <uct/ib/predreg/compat/ucm_lock.h>
#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/eager/eager.h>
#include <uct/ib/predreg/iface/iface.h>
#include <uct/ib/predreg/md/md.h>
#include <uct/ib/predreg/md/domain.h>

#include <ucs/base/hook.h>
#include <ucs/rcache_pred/api/rcache_pred.h>

#include <ucm/api/ucm.h>

#include <sys/mman.h>
#include <unistd.h>


/* Handlers of positive priority are called after the kernel, or an arena, has done the
 * work */
#define MAPPED_PRIORITY 1000


/* In memory hooks: allocates nothing, logs nothing and waits for nothing. @return
 * whether the event is recorded */
static int record(uct_predreg_core_t *core, unsigned type, uintptr_t address,
                  size_t length)
{
    ucs_rcache_pred_event_t event = {
        .type    = type,
        .address = address,
        .length  = length
    };

    if ((core->recorder == NULL) || (length < core->knobs.arena_min)) {
        return 0;
    }

    event.time = ucs_rcache_pred_thread_now(core->thread);
    ucs_rcache_recorder_event(core->recorder, &event);
    return 1;
}

static void mapped(uct_predreg_core_t *core, void *address, size_t length)
{
    if (address != MAP_FAILED) {
        (void)record(core, UCS_RCACHE_PRED_EVENT_MAP, (uintptr_t)address,
                     length);
    }
}

static void on_event(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
    uct_predreg_core_t *core = arg;

    /* See vm_unmapped() */
    if (core->pid != getpid()) {
        return;
    }

    if (type == UCM_EVENT_MREMAP) {
        mapped(core, event->mremap.result, event->mremap.new_size);
    } else if ((type == UCM_EVENT_MMAP) &&
               uct_predreg_arena_may_serve(event->mmap.address,
                                           event->mmap.prot,
                                           event->mmap.flags)) {
        mapped(core, event->mmap.result, event->mmap.size);
    }
}

ucs_status_t uct_predreg_mappings_start(uct_predreg_core_t *core)
{
    /* For the flag see arena/events.c */
    return ucm_set_event_handler(UCM_EVENT_MMAP | UCM_EVENT_MREMAP |
                                 UCM_EVENT_FLAG_NO_INSTALL,
                                 MAPPED_PRIORITY, on_event, core);
}

/* UCM calls this function from inside munmap(), and perhaps from inside free(): so the
 * function allocates nothing, logs nothing and waits for nothing */
static void vm_unmapped(ucm_event_type_t event_type, ucm_event_t *event,
                        void *arg)
{
    uct_predreg_core_t *core = arg;
    uintptr_t start          = (uintptr_t)event->vm_unmapped.address;
    int is_recorded;

    /* In a forked child whose handler has not run yet, the cache is still the parent's,
     * and another thread of the parent may have held the lock */
    if (core->pid != getpid()) {
        return;
    }

    ucs_rank_take(UCS_RANK_HOOK, event, UCS_RANK_TRY);
    uct_predreg_hot_unmapped(start, start + event->vm_unmapped.size);
    is_recorded = record(core, UCS_RCACHE_PRED_EVENT_UNMAP, start,
                         event->vm_unmapped.size);
    if (core->pred != NULL) {
        ucs_rcache_pred_unmapped(core->pred, start,
                                 start + event->vm_unmapped.size);
    } else if (!is_recorded) {
        uct_predreg_watch_unmapped(core, start, event->vm_unmapped.size);
    }
    ucs_rank_drop(event);
}

void uct_predreg_vm_protected(uct_predreg_core_t *core, const void *address,
                              size_t length, int prot)
{
    const int all = PROT_READ | PROT_WRITE;

    /* See above */
    if ((core->pred != NULL) && (core->pid == getpid())) {
        ucs_rcache_pred_protect(core->pred, (uintptr_t)address, length,
                                (prot & all) != all);
    }
}

ucs_status_t uct_predreg_vm_events_start(uct_predreg_core_t *core)
{
    return ucm_set_event_handler(UCM_EVENT_VM_UNMAPPED,
                                 core->compat->vm_event_priority, vm_unmapped,
                                 core);
}

/*
 * The fork handlers. Before a fork the parent deregisters its idle regions, for two
 * reasons. On kernels that do not copy pinned pages for the child, the parent's next write
 * would give the parent a new page, while the adapter keeps using the old one. And where
 * rdma-core withholds registered memory from children (MADV_DONTFORK), the child would miss
 * the memory. A user who knows that neither applies says so with UCX's own
 * RCACHE_PURGE_ON_FORK=n. The child starts without regions and without a helper; inherited
 * objects of UCX belong to the parent. The lock of UCM's memory events is the child's own,
 * and is free. Free memory of the arena is kept from the child, which can do nothing with
 * free memory.
 *
 * The handler of a signal may fork where the handler has interrupted this library: where
 * its thread has a lock that the fork handler would take, or that the helper waits for with
 * another lock. There the fork handler can wait for nothing, and deregister nothing.
 * Instead no use finds older registrations from the fork on, as if all memory had been
 * unmapped, and the helper deregisters them: the parent does not write to pages that the
 * child got. The child goes without two gains: it misses memory that is withheld from
 * children, and it copies free memory of the arena. The child may do what POSIX allows in
 * the child of a process with threads: call functions that are safe in handlers, and run
 * another program or end. The child must not return from the handler.
 */

/* The state of the fork handlers, which get no argument. Written before the handlers are
 * installed */
static uct_predreg_core_t *forking;

/* Whether this thread forks in a handler that has interrupted this
 * library. Written before the fork, by the thread that forks */
static __thread int is_interrupting __attribute__((tls_model("initial-exec")));

/* The handler may have interrupted a hook of memory, which takes the lock of the cache. No
 * handler interrupts hooks of the arena and of Firehose (ucs/base/hook.h) */
static int has_interrupted(uct_predreg_core_t *core)
{
    return (uct_predreg_within > 0) || ucs_rcache_pred_is_in_round() ||
           ((core->pred != NULL) &&
            ucs_rcache_pred_is_interrupted(core->pred));
}

static void fork_prepare(void)
{
    uct_predreg_core_t *core = forking;

    is_interrupting = has_interrupted(core);
    if (is_interrupting) {
        uct_predreg_hot_unmapped(0, UINTPTR_MAX);
        if (core->pred != NULL) {
            ucs_rcache_pred_unmapped(core->pred, 0, UINTPTR_MAX);
        }
        return;
    }

    /* A handler in this thread could wait for a lock of the thread until the thread has
     * forked */
    ucs_hook_enter();

    /* Hot buffers are registered anew: their handles stay, but nothing is sent
     * from them any more */
    uct_predreg_hot_unmapped(0, UINTPTR_MAX);
    ucs_mutex_lock(&core->lock);
    if (core->pred != NULL) {
        ucs_rcache_pred_quiesce(core->pred);
    }
    uct_predreg_arena_fork_prepare(core);
}

static void fork_parent(void)
{
    uct_predreg_core_t *core = forking;

    if (is_interrupting) {
        return;
    }

    uct_predreg_arena_fork_parent(core);
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

    ucs_rank_forget();
    /* The lock is held by the thread that forked, now the only one, or by nobody; or by
     * another thread of the parent */
    ucs_mutex_init(&core->lock, UCS_RANK_CORE, 0);
    uct_predreg_ucm_lock_forked();
    uct_predreg_domains_reset();
    uct_predreg_arena_fork(core);
    uct_predreg_record_reset(core);
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
    atomic_init(&core->kernel_pinned, 0);
    uct_predreg_foreign_reset(core);
    uct_predreg_eager_fork();
    uct_predreg_sends_fork();
    core->pid = getpid(); /* Written after pred, see vm_unmapped() */
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
