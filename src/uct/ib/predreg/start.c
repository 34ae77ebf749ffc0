/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "process.h"

#include <uct/ib/predreg/core/counters.h>
#include <uct/ib/predreg/core/job.h>
#include <uct/ib/predreg/core/live.h>
#include <uct/ib/predreg/core/record.h>
#include <uct/ib/predreg/core/seat.h>
#include <uct/ib/predreg/core/snapshot.h>
#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/core/summary.h>
#include <uct/ib/predreg/iface/transfer.h>
#include <uct/ib/predreg/md/cache.h>
#include <uct/ib/predreg/md/comm.h>
#include <uct/ib/predreg/md/open.h>
#include <uct/ib/predreg/md/use.h>
#include <uct/ib/predreg/md/ucx_caches.h>

#include <ucs/debug/log_def.h>

#include <unistd.h>

/*
 * Start and exit of the core. This file knows all others, and none of them
 * calls it.
 */


static const uct_predreg_hooks_t hooks = {
    .ucp_config   = uct_predreg_ucp_config,
    .md_config    = uct_predreg_md_config,
    .md_opened    = uct_predreg_md_opened,
    .md_closing   = uct_predreg_md_closing,
    .md_query     = uct_predreg_md_query,
    .iface_opened = uct_predreg_iface_opened,
    .mem_reg      = uct_predreg_mem_reg,
    .mem_dereg    = uct_predreg_mem_dereg,
    .mkey_check   = uct_predreg_mkey_check,
    .closing      = uct_predreg_note_pinned,
    .may_sleep    = uct_predreg_may_sleep,
    .idle         = uct_predreg_idle,
    .comm         = uct_predreg_comm
};

/* Prepare for watching, under leave-pinned. Only a trace needs to know of
 * unmaps there */
static void watch_start(void)
{
    ucs_status_t status;

    if (!uct_predreg_is_traced()) {
        return;
    }

    status = uct_predreg_vm_events_start();
    if (status != UCS_OK) {
        ucs_warn("memory events of UCM are not available (%s): unmapped memory "
                 "is missing in the trace", ucs_status_string(status));
    }
}

/* Prepare for managing memory. Everything that can fail is done here, before
 * UCX's own caches are switched off */
static ucs_status_t core_start(void)
{
    const uct_predreg_knobs_t *knobs = &uct_predreg_core.knobs;
    ucs_status_t status;

    status = uct_predreg_fork_handlers_install();
    if (status != UCS_OK) {
        uct_predreg_step_aside("cannot install fork handlers");
        return status;
    }

    if (knobs->policy == UCS_RCACHE_PRED_POLICY_LEAVE_PINNED) {
        watch_start();
        return UCS_OK;
    }

    status = uct_predreg_vm_events_start();
    if (status != UCS_OK) {
        uct_predreg_step_aside("memory events of UCM are not available (%s); "
                               "without them a buffer that was unmapped would "
                               "not be noticed", ucs_status_string(status));
        return status;
    }

    uct_predreg_seat_init();
    if (!uct_predreg_is_managing()) {
        uct_predreg_step_aside("the cache cannot be set up: out of memory, or "
                               "what was complained about above");
        return UCS_ERR_NO_MEMORY;
    }

    return UCS_OK;
}

__attribute__((visibility("default"))) const uct_predreg_hooks_t *
uct_predreg_core_init_2(const uct_predreg_real_t *real)
{
    uct_predreg_core.real   = *real;
    uct_predreg_core.rank   = uct_predreg_job_rank();
    uct_predreg_core.pid    = getpid();
    uct_predreg_core.compat = uct_predreg_find_compat(real);
    if (uct_predreg_core.compat == NULL) {
        return NULL;
    }

    if (uct_predreg_knobs_read(&uct_predreg_core.knobs) != UCS_OK) {
        uct_predreg_step_aside("a variable UCX_RCACHE_PRED_* has the value "
                               "that was complained about above");
        return NULL;
    }

    if (core_start() != UCS_OK) {
        return NULL;
    }

    return &hooks;
}

/* Print the summary, unless this process had nothing to do with an adapter */
static void print_summary(void)
{
    const uct_predreg_knobs_t *knobs = &uct_predreg_core.knobs;
    ucs_rcache_pred_snapshot_t snapshot;

    if ((uct_predreg_core.num_opened == 0) ||
        (knobs->summary == UCT_PREDREG_SUMMARY_NONE)) {
        return;
    }

    uct_predreg_note_pinned(); /* Counts domains that the program did not
                                  close */
    uct_predreg_snapshot(&snapshot);
    uct_predreg_summary_print(&snapshot, knobs->summary, knobs->summary_file);
}

/* The process exits. Domains that were not closed stay as they are, since UCX
 * is going away as well. */
UCS_F_DTOR static void core_exit(void)
{
    if (uct_predreg_core.pid != getpid()) {
        return; /* A child that was made without calling the fork handlers: all
                   of this is its parent's */
    }

    if (uct_predreg_core.thread != NULL) {
        ucs_rcache_pred_thread_stop(uct_predreg_core.thread);
    }

    print_summary();
    uct_predreg_live_stop();
    uct_predreg_record_finish();
    /* This process does not leave the node's processes, because its other
     * threads may still communicate. The other processes notice when it is
     * gone. */
}
