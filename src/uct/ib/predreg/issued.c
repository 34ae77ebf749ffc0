/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "issued.h"

#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/core/comm.h>


/* Whether there is a domain whose memory the cache manages. Relaxed: a thread
 * that does not see a domain that another one is just opening looks again at its
 * next call */
static int is_managing(uct_predreg_core_t *core)
{
    return atomic_load_explicit(&core->num_managed, memory_order_relaxed) > 0;
}

/* What tells the calls of one caller apart: the path of calls that led there,
 * or the depth of the stack */
static uint64_t path_of(uct_predreg_core_t *core, uct_predreg_issuer_t *issuer,
                        const uct_predreg_comm_t *comm)
{
    return (core->paths == NULL) ? (uintptr_t)comm->stack :
           ucs_callpath_find(core->paths, &issuer->path, comm->caller,
                             comm->stack);
}

void uct_predreg_comm(uct_predreg_core_t *core, uct_predreg_issuer_t *issuer,
                      const uct_predreg_comm_t *comm)
{
    ucs_rcache_recorder_t *recorder = core->recorder;
    ucs_rcache_pred_context_t context;

    /* Nobody would look for the context: UCX keeps everything registered
     * (leave-pinned), or there is no adapter */
    if (!is_managing(core) && (recorder == NULL)) {
        return;
    }

    ucs_rcache_pred_context_add(&issuer->window, core->knobs.window, comm->kind,
                                comm->buffer, comm->caller,
                                path_of(core, issuer, comm), &context);
    uct_predreg_posted_put(comm->buffer, &context);
    if (ucs_unlikely(recorder != NULL)) {
        ucs_rcache_recorder_site(recorder, &context);
    }
}

void uct_predreg_idle(uct_predreg_core_t *core, ucs_rcache_pred_idle_t *idle)
{
    /* The helper thread starts with the first domain */
    if ((core->pred != NULL) && is_managing(core)) {
        ucs_rcache_pred_idle(core->pred, idle);
    } else {
        idle->skip = UCS_RCACHE_PRED_IDLE_MAX - 1;
    }
}
