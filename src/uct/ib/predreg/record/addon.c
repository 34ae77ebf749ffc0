/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "record.h"

#include <uct/ib/predreg/arena/calls.h>

#include <ucs/debug/log_def.h>

#include <sys/mman.h>


/* Record that memory was mapped or unmapped. Called in memory hooks */
static void
record(uct_predreg_core_t *core, unsigned type, uintptr_t address, size_t length)
{
    ucs_rcache_pred_event_t event = {
        .type    = type,
        .time    = ucs_rcache_pred_thread_now(NULL),
        .address = address,
        .length  = length
    };

    ucs_rcache_recorder_event(uct_predreg_recorder(core), &event);
}

static void unmapped(uct_predreg_core_t *core, uintptr_t start, uintptr_t end)
{
    /* Memory long enough for an arena is recorded always. Shorter memory is recorded here
     * only under the leave-pinned policy, where no cache (pred) records it, and only if
     * as long as the shortest use so far: no use was of still shorter memory */
    if ((core->observer != NULL) &&
        ((end - start >= core->knobs.arena_min) ||
         ((core->pred == NULL) && (end - start >= uct_predreg_record_shortest())))) {
        record(core, UCS_RCACHE_PRED_EVENT_UNMAP, start, end - start);
    }
}

static void
mapped(uct_predreg_core_t *core, ucm_event_type_t type, const ucm_event_t *event)
{
    void *address = NULL;
    size_t length = 0;

    if (type == UCM_EVENT_MREMAP) {
        address = event->mremap.result;
        length  = event->mremap.new_size;
    } else if (uct_predreg_arena_may_serve(event->mmap.address, event->mmap.prot,
                                           event->mmap.flags)) {
        address = event->mmap.result;
        length  = event->mmap.size;
    }

    if ((core->observer != NULL) && (address != MAP_FAILED) &&
        (length >= core->knobs.arena_min)) {
        record(core, UCS_RCACHE_PRED_EVENT_MAP, (uintptr_t)address, length);
    }
}

static unsigned needs(const uct_predreg_core_t *core)
{
    return uct_predreg_is_traced(&core->knobs) ?
           (UCT_PREDREG_NEEDS_UNMAPPED | UCT_PREDREG_NEEDS_MAPPED) : 0;
}

static void
start(uct_predreg_core_t *core, uct_predreg_hooks_t *hooks, ucs_status_t events)
{
    if (!uct_predreg_is_traced(&core->knobs)) {
        return;
    }

    if (events != UCS_OK) {
        ucs_warn("memory events of UCM are not available (%s): unmapped memory "
                 "is missing in the trace", ucs_status_string(events));
    }
}

static void finish(uct_predreg_core_t *core, const char *nothing)
{
    /* In a job only the first rank logs the warning */
    if ((nothing != NULL) && uct_predreg_is_traced(&core->knobs) &&
        (core->rank <= 0)) {
        ucs_warn("UCX_RCACHE_PRED_TRACE=%s: %s: %s", core->knobs.trace,
                 uct_predreg_record_is_begun(core) ?
                         "only small sends were recorded" :
                         "there was nothing to record",
                 nothing);
    }
    uct_predreg_record_finish(core);
}

const uct_predreg_addon_t uct_predreg_record_addon = {
    .needs         = needs,
    .start         = start,
    .exit          = finish,
    .observe       = uct_predreg_record_observe,
    .domain_opened = uct_predreg_record_domain,
    .unmapped      = unmapped,
    .mapped        = mapped,
    .fork_child    = uct_predreg_record_reset
};
