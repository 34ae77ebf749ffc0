/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "addons.h"
#include "entry.h"

#include <ucs/base/strb.h>
#include <ucs/host/unwind.h>
#include <ucs/rcache_pred/api/rcache_pred.h>
#include <uct/ib/predreg/core/addon.h>
#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/core/job.h>
#include <uct/ib/predreg/md/domain.h>
#include <uct/ib/predreg/md/md.h>
#include <uct/ib/predreg/stat/stat.h>

#include <ucs/debug/log_def.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * Start and exit of the core. This file knows all others, and no other file calls it.
 */


/* How long the exit waits for the lock of the cache, and then for the end of the helper
 * thread, ns. The lock of the cache is held for microseconds; the helper may be in a
 * registration, which takes longer. */
#define CACHE_PATIENCE  1000000000ul
#define THREAD_PATIENCE 5000000000ul


/* See to it that a trace has all uses. The leave-pinned policy keeps UCX's own cache on,
 * and in some versions UCX's cache answers uses without a call of this library: the trace
 * would lack these uses. There the cache of this library takes the place of UCX's,
 * and leaves everything registered as UCX's would */
static void record_without_ucx_cache(uct_predreg_core_t *core)
{
    uct_predreg_knobs_t *knobs = &core->knobs;

    if (!core->compat->ucp_cache_hides_uses || !uct_predreg_is_traced(knobs) ||
        (knobs->policy != UCS_RCACHE_PRED_POLICY_LEAVE_PINNED)) {
        return;
    }

    ucs_debug("UCX's own cache hides what is recorded: predict without a budget "
              "to give up memory takes its place");
    knobs->policy = UCS_RCACHE_PRED_POLICY_PREDICT;
    knobs->budget = 0;
}

/* Prepare for telling the communications of one call site apart by the path of calls that
 * led there. Without memory for the paths, the depth of the stack tells them apart */
static void paths_start(uct_predreg_core_t *core)
{
    if (core->knobs.unwind &&
        (ucs_callpath_table_create(&ucs_host_callpath_ops, &core->paths) !=
         UCS_OK)) {
        ucs_debug("no memory for paths of calls: UCX_RCACHE_PRED_UNWIND is "
                  "ignored");
    }
}

/* Warn if the user has set bounds: the leave-pinned policy ignores them */
static void tell_ignored(const uct_predreg_knobs_t *knobs)
{
    if ((knobs->max_pinned != SIZE_MAX) || (knobs->max_regions != ULONG_MAX) ||
        (knobs->node_max_pinned != SIZE_MAX) ||
        (knobs->node_max_regions != ULONG_MAX)) {
        ucs_warn("bounds are not kept under the policy leave-pinned: "
                 "UCX_RCACHE_PRED_MAX_PINNED and the others are ignored");
    }
}

/* Prepare for managing memory. Everything that can fail is done here, before
 * UCX's own caches are switched off
 * @param [out] events_p  UCS_OK if UCM tells of unmapped memory, else UCM's error */
static ucs_status_t core_start(uct_predreg_core_t *core, ucs_status_t *events_p)
{
    const uct_predreg_knobs_t *knobs = &core->knobs;
    ucs_status_t status;

    status = uct_predreg_fork_handlers_install(core);
    if (status != UCS_OK) {
        uct_predreg_step_aside(core, UCT_PREDREG_ASIDE_FORK, NULL);
        return status;
    }

    uct_predreg_quiet_install();
    if (knobs->policy == UCS_RCACHE_PRED_POLICY_LEAVE_PINNED) {
        tell_ignored(knobs);
        *events_p = uct_predreg_vm_events_start(core);
        return UCS_OK;
    }

    /* UCX loads its components in this call, before memory hooks are installed, as UCX
     * does itself: a library loaded after the hooks may free memory by functions unknown
     * to the hooks (UCX_MEM_MMAP_HOOK_MODE=reloc in 1.18) */
    uct_predreg_components_are_here(core);
    *events_p = uct_predreg_vm_events_start(core);
    if (*events_p != UCS_OK) {
        uct_predreg_step_aside(core, UCT_PREDREG_ASIDE_EVENTS,
                               ucs_status_string(*events_p));
        return *events_p;
    }

    uct_predreg_seat_init();
    if (!uct_predreg_is_managing(core)) {
        uct_predreg_step_aside(core, UCT_PREDREG_ASIDE_CACHE, NULL);
        return UCS_ERR_NO_MEMORY;
    }

    return UCS_OK;
}

__attribute__((visibility("default"))) const uct_predreg_hooks_t *
uct_predreg_core_init_16(const uct_predreg_real_t *real)
{
    static uct_predreg_hooks_t hooks;
    uct_predreg_core_t *core = &uct_predreg_core;
    ucs_status_t events;

    core->addons = uct_predreg_addons;
    core->real   = *real;
    core->rank   = uct_predreg_job_rank();
    core->pid    = getpid();
    core->compat = uct_predreg_find_compat(core, real);
    if (core->compat == NULL) {
        return NULL;
    }

    if (uct_predreg_knobs_read(&core->knobs) != UCS_OK) {
        uct_predreg_step_aside(core, UCT_PREDREG_ASIDE_KNOB, NULL);
        return NULL;
    }

    if (core->knobs.summary != UCT_PREDREG_SUMMARY_NONE) {
        uct_predreg_summary_keep_stderr();
    }

    record_without_ucx_cache(core);
    if (core_start(core, &events) != UCS_OK) {
        return NULL;
    }

    paths_start(core);
    hooks = uct_predreg_hooks;
    uct_predreg_addons_call(core, start, core, &hooks, events);
    return &hooks;
}

/* @param [in] nothing  Why nothing was managed: the summary says so in place of its
 *                      numbers, as a user without a summary would look for the reason.
 *                      NULL: something was managed */
static void print_summary(uct_predreg_core_t *core, const char *nothing)
{
    const uct_predreg_knobs_t *knobs = &core->knobs;
    ucs_rcache_pred_snapshot_t snapshot;
    char ucx[UCT_PREDREG_UCX_VERSION_MAX];

    if (knobs->summary == UCT_PREDREG_SUMMARY_NONE) {
        return;
    }

    /* Open domains have pinned memory, which the summary is to show */
    uct_predreg_note_pinned(core);
    uct_predreg_snapshot(core, &snapshot);
    if (nothing != NULL) {
        snapshot.mode = UCS_RCACHE_PRED_MODE_NONE; /* The helper was never started */
    }
    uct_predreg_ucx_version(core, ucx, sizeof(ucx));
    uct_predreg_summary_print(&snapshot, ucx, core->told_settings, nothing,
                              knobs->summary, knobs->summary_file);
}

/*
 * Stop the helper and the threads of add-ons, unless the lock of the cache stays taken. A
 * program may call exit() in the handler of a signal that has interrupted this thread
 * anywhere: while the thread held the lock of the cache, which nobody gets any more then,
 * or while the thread was in a domain, for which the helper waits. The process has to end
 * all the same, so each wait has an end. @return whether there can be a summary
 */
static int calm_down(uct_predreg_core_t *core)
{
    if ((core->pred != NULL) &&
        !ucs_rcache_pred_is_free(core->pred, CACHE_PATIENCE)) {
        return 0;
    }

    if (core->thread != NULL) {
        (void)ucs_rcache_pred_thread_stop(core->thread, THREAD_PATIENCE);
    }
    uct_predreg_addons_call(core, stop, core, THREAD_PATIENCE);
    return 1;
}

/* The process exits. Open domains stay as they are, since UCX is going away as well. */
UCS_F_DTOR static void core_exit(void)
{
    uct_predreg_core_t *core = &uct_predreg_core;
    unsigned num_seen        = atomic_load(&core->num_seen);
    const char *nothing      = NULL;
    UCS_STRB(text, 192);

    if (core->pid != getpid()) {
        return; /* A child that was made without calling the fork handlers: the state is
                 * its parent's */
    }

    if (!calm_down(core)) {
        core->pid = 0; /* From now on the handlers of memory events do nothing */
        uct_predreg_addons_call(core, stop, core, 0);
        if ((core->knobs.summary != UCT_PREDREG_SUMMARY_NONE) ||
            uct_predreg_is_traced(&core->knobs)) {
            ucs_warn("there is no summary, and the trace has no end: a handler "
                     "of a signal has ended this process within a "
                     "registration");
        }
        return;
    }

    if (core->num_opened > 0) {
        print_summary(core, NULL);
    } else if ((num_seen > 0) && !atomic_load(&core->aside)) {
        ucs_string_buffer_appendf(&text, "UCX opened %u memory domains, none of ",
                                  num_seen);
        uct_predreg_components_tell(&core->knobs, &text);
        nothing = ucs_string_buffer_cstr(&text);
        print_summary(core, nothing);
    }
    uct_predreg_live_stop(core);
    uct_predreg_addons_call(core, exit, core, nothing);
    /* This process stays on the list of the node's processes, because its other threads
     * may still communicate. The other processes of the node notice when this process is
     * gone. */
}


/*
 * What the core says of itself to a tool in its process, which asks through the preloaded
 * library: status/aside.h lists the lines.
 */


typedef struct {
    uct_predreg_tell_t tell;
    void               *arg;
} listener_t;


static void tell_domain(uct_predreg_domain_t *domain, void *arg)
{
    const listener_t *listener = arg;

    if (!uct_predreg_domain_keeps_all(domain)) {
        listener->tell(listener->arg, "managed", domain->name);
    }
}

static void tell_pools(const uct_predreg_core_t *core, const listener_t *listener)
{
    char text[64];
    unsigned i;

    /* Relaxed: no other thread uses UCX now */
    for (i = 0; i < UCS_RCACHE_PRED_POOL_LAST; ++i) {
        snprintf(text, sizeof(text), "%u %lu", i, ucs_relaxed_load(&core->pool_kinds[i]));
        listener->tell(listener->arg, "pool", text);
    }
}

__attribute__((visibility("default"))) void
uct_predreg_core_status(uct_predreg_tell_t tell, void *arg)
{
    uct_predreg_core_t *core = &uct_predreg_core;
    listener_t listener      = {tell, arg};

    uct_predreg_aside_tell(atomic_load(&core->aside), core->why_aside, tell, arg);
    if (core->compat == NULL) {
        return; /* The core was not started */
    }

    tell(arg, "policy", ucs_rcache_pred_policy_names[uct_predreg_policy(core)]);
    uct_predreg_domains_for_each(tell_domain, &listener);
    if (core->told_settings[0] != '\0') {
        tell(arg, "settings", core->told_settings);
    }
    tell_pools(core, &listener);
    uct_predreg_addons_call(core, tell, tell, arg);
}
