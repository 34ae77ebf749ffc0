/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "mappings.h"

#include <uct/ib/predreg/arena/calls.h>
#include <uct/ib/predreg/core/state.h>

#include <ucm/api/ucm.h>

#include <sys/mman.h>
#include <unistd.h>


/* Handlers of positive priority are called when the kernel has done what it was
 * asked for, or an arena has */
#define PRIORITY 1000


/* In memory hooks, so that it allocates nothing, logs nothing and waits for
 * nothing. @return whether the event is recorded */
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

    /* See vm_unmapped() in process.c */
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
                                 PRIORITY, on_event, core);
}

int uct_predreg_mappings_unmapped(uct_predreg_core_t *core, uintptr_t start,
                                  size_t length)
{
    return record(core, UCS_RCACHE_PRED_EVENT_UNMAP, start, length);
}
