/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <uct/ib/predreg/core/core.h>
#include <uct/ib/predreg/core/record.h>

#include <ucm/api/ucm.h>
#include <ucs/debug/log_def.h>

#include <unistd.h>

/* After UCX's own handlers, which come at 1000 and below */
#define VM_EVENT_PRIORITY 1500


/* Inside munmap, perhaps inside free: nothing is allocated, logged or waited
 * for */
static void vm_unmapped(ucm_event_type_t event_type, ucm_event_t *event,
                        void *arg)
{
    uintptr_t start = (uintptr_t)event->vm_unmapped.address;

    /* In a forked child whose handler has not run yet, the cache is still the
     * parent's, and another thread of it may have held the lock */
    if (uct_predreg_core.pid != getpid()) {
        return;
    }

    if (uct_predreg_core.pred != NULL) {
        ucs_rcache_pred_unmapped(uct_predreg_core.pred, start,
                                 start + event->vm_unmapped.size);
    } else {
        uct_predreg_watch_unmapped(start, event->vm_unmapped.size);
    }
}

ucs_status_t uct_predreg_vm_events_start(void)
{
    return ucm_set_event_handler(UCM_EVENT_VM_UNMAPPED, VM_EVENT_PRIORITY,
                                 vm_unmapped, NULL);
}

/*
 * Fork. Idle regions are deregistered first: on kernels that do not copy pinned
 * pages for the child, the parent's next write would move its page away from
 * under the adapter; and where rdma-core withholds registered memory from
 * children (MADV_DONTFORK), the child would miss it. The child starts with
 * nothing and no helper; what it inherited of UCX belongs to the parent.
 */

static void fork_prepare(void)
{
    pthread_mutex_lock(&uct_predreg_core.lock);
    if (uct_predreg_core.pred != NULL) {
        ucs_rcache_pred_quiesce(uct_predreg_core.pred);
    }
}

static void fork_parent(void)
{
    if (uct_predreg_core.pred != NULL) {
        ucs_rcache_pred_resume(uct_predreg_core.pred);
    }
    pthread_mutex_unlock(&uct_predreg_core.lock);
}

static void fork_child(void)
{
    uct_predreg_core_reset();
}

ucs_status_t uct_predreg_fork_handlers_install(void)
{
    return (pthread_atfork(fork_prepare, fork_parent, fork_child) == 0) ?
           UCS_OK : UCS_ERR_NO_MEMORY;
}
