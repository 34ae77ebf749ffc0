/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "issued.h"

#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/md/posted.h>


/* Whether there is a domain whose memory the cache manages. Relaxed: a thread
 * that does not see a domain that another one is just opening looks again at its
 * next call */
static int is_managing(uct_predreg_core_t *core)
{
    return atomic_load_explicit(&core->num_managed, memory_order_relaxed) > 0;
}

void uct_predreg_comm(uct_predreg_core_t *core,
                      ucs_rcache_pred_window_t *window,
                      const uct_predreg_comm_t *comm)
{
    ucs_rcache_recorder_t *recorder = core->recorder;
    ucs_rcache_pred_context_t context;

    /* Nobody would look for the context: UCX keeps everything registered
     * (leave-pinned), or there is no adapter */
    if (!is_managing(core) && (recorder == NULL)) {
        return;
    }

    ucs_rcache_pred_context_add(window, core->knobs.window, comm->kind,
                                comm->buffer, comm->caller, comm->stack,
                                &context);
    uct_predreg_posted_put(comm->buffer, &context);
    if (ucs_unlikely(recorder != NULL)) {
        ucs_rcache_recorder_site(recorder, &context);
    }
}

void uct_predreg_idle(uct_predreg_core_t *core)
{
    /* The helper thread starts with the first domain */
    if ((core->pred != NULL) && is_managing(core)) {
        ucs_rcache_pred_progress(core->pred);
    }
}
