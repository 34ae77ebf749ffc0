/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "addon.h"
#include "state.h"

#include <ucs/rcache_pred/api/rcache_pred.h>

#include <ucs/debug/log_def.h>

#include <sys/mman.h>
#include <unistd.h>


/* Handlers of positive priority are called after the kernel, or an arena, has done the
 * work */
#define MAPPED_PRIORITY 1000

/* Handlers of negative priority are called before the kernel */
#define MOVED_PRIORITY (-1)


/* @return which changes of memory any of the add-ons is to be told of,
 * UCT_PREDREG_NEEDS_* */
static unsigned addons_need(const uct_predreg_core_t *core)
{
    const uct_predreg_addon_t *const *addon;
    unsigned needs = 0;

    for (addon = core->addons; *addon != NULL; ++addon) {
        needs |= ((*addon)->needs != NULL) ? (*addon)->needs(core) : 0;
    }
    return needs;
}

int uct_predreg_addons_give_way(uct_predreg_core_t *core)
{
    const uct_predreg_addon_t *const *addon;

    for (addon = core->addons; *addon != NULL; ++addon) {
        if (((*addon)->give_way != NULL) && (*addon)->give_way(core)) {
            return 1;
        }
    }
    return 0;
}

/* UCM calls this function from inside munmap(), and perhaps from inside free(): so neither
 * this function nor an add-on allocates, logs or waits */
static void handle_event(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
    uct_predreg_core_t *core = arg;
    uintptr_t start, end;

    /* In a forked child whose handler has not run yet, the cache is still the parent's,
     * and another thread of the parent may have held the lock of the cache at the fork */
    if (core->pid != getpid()) {
        return;
    }

    ucs_rank_take(UCS_RANK_HOOK, event, UCS_RANK_TRY);
    if (type != UCM_EVENT_VM_UNMAPPED) {
        uct_predreg_addons_call(core, mapped, core, type, event);
        goto out;
    }

    start = (uintptr_t)event->vm_unmapped.address;
    end   = start + event->vm_unmapped.size;
    uct_predreg_addons_call(core, unmapped, core, start, end);
    if (core->pred != NULL) {
        ucs_rcache_pred_unmapped(core->pred, start, end);
    }
out:
    ucs_rank_drop(event);
}

/* Before the kernel moves memory to an address: have the kernel refuse that (EINVAL), by flags
 * that do not exist. UCX 1.13 and 1.14 do not pass the address on, and the kernel would
 * move the memory anywhere, and say that it has succeeded. Open MPI's hooks do better, but
 * a trace and the arena switch them off (keep_ucx_hooks() of preload/preload.c) */
static void refuse_move(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
    if ((event->mremap.result == MAP_FAILED) && (event->mremap.flags & MREMAP_FIXED)) {
        event->mremap.flags = ~(MREMAP_MAYMOVE | MREMAP_FIXED);
    }
}

ucs_status_t uct_predreg_vm_events_start(uct_predreg_core_t *core)
{
    unsigned needs = addons_need(core);
    ucs_status_t status;

    if ((core->knobs.policy == UCS_RCACHE_PRED_POLICY_LEAVE_PINNED) && (needs == 0)) {
        return UCS_OK;
    }

    status = ucm_set_event_handler(UCM_EVENT_VM_UNMAPPED,
                                   UCT_PREDREG_VM_EVENT_PRIORITY, handle_event, core);
    if ((status != UCS_OK) || !(needs & UCT_PREDREG_NEEDS_MAPPED)) {
        return status;
    }

    /* UCM has installed its hooks for the handler above, and the same hooks cause the
     * events below. UCM_EVENT_FLAG_NO_INSTALL keeps UCM from a test whether malloc()
     * causes each of them: malloc() does not, and ucm_set_event_handler() would fail */
    status = ucm_set_event_handler(UCM_EVENT_MMAP | UCM_EVENT_MREMAP |
                                   UCM_EVENT_FLAG_NO_INSTALL,
                                   MAPPED_PRIORITY, handle_event, core);
    if (status != UCS_OK) {
        ucs_warn("memory events of UCM are not available (%s): memory that is "
                 "mapped is missing in the trace", ucs_status_string(status));
    } else if (core->compat->mremap_target_offset == 0) {
        (void)ucm_set_event_handler(UCM_EVENT_MREMAP | UCM_EVENT_FLAG_NO_INSTALL,
                                    MOVED_PRIORITY, refuse_move, NULL);
    }
    return UCS_OK;
}

void uct_predreg_vm_protected(uct_predreg_core_t *core, const void *address,
                              size_t length, int prot)
{
    const int all = PROT_READ | PROT_WRITE;

    /* In a forked child the cache is still the parent's, see handle_event() */
    if ((core->pred != NULL) && (core->pid == getpid())) {
        ucs_rcache_pred_protect(core->pred, (uintptr_t)address, length,
                                (prot & all) != all);
    }
}
