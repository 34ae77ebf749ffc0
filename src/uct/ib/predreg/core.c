/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <uct/ib/predreg/core/core.h>
#include <uct/ib/predreg/core/record.h>
#include <uct/ib/predreg/iface/iface.h>
#include <uct/ib/predreg/md/memlock.h>
#include <uct/ib/predreg/md/posted.h>

#include <ucs/debug/log_def.h>

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>


uct_predreg_core_t uct_predreg_core = {
    .lock = PTHREAD_MUTEX_INITIALIZER
};


void uct_predreg_step_aside(const char *fmt, ...)
{
    char reason[256];
    va_list ap;

    /* Relaxed: whoever comes first speaks */
    if (atomic_exchange_explicit(&uct_predreg_core.aside, 1,
                                 memory_order_relaxed)) {
        return;
    }

    va_start(ap, fmt);
    vsnprintf(reason, sizeof(reason), fmt, ap);
    va_end(ap);
    ucs_warn("predictive registration steps aside: %s", reason);
}

static void comm(ucs_rcache_pred_window_t *window, ucs_rcache_pred_comm_t comm,
                 const void *buffer, const void *caller, const void *stack)
{
    ucs_rcache_recorder_t *recorder = uct_predreg_core.recorder;
    ucs_rcache_pred_context_t context;

    ucs_rcache_pred_context_record(window, uct_predreg_core.knobs.window, comm,
                                   buffer, caller, stack, &context);
    uct_predreg_posted_put(buffer, &context);
    if (ucs_unlikely(recorder != NULL)) {
        ucs_rcache_recorder_site(recorder, &context);
    }
}

static void idle(void)
{
    ucs_rcache_pred_t *pred = uct_predreg_core.pred;

    if (pred != NULL) {
        ucs_rcache_pred_progress(pred);
    }
}

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
    .idle         = idle,
    .comm         = comm
};

/* UCS structures and configuration tables are not stable between versions of
 * UCX: work only beside the one this was compiled for */
ucs_status_t uct_predreg_check_version(const uct_predreg_real_t *real)
{
    unsigned major, minor, release;

    if (real->ucp_get_version == NULL) {
        return UCS_OK; /* UCT only, so far; it tells no version */
    }

    real->ucp_get_version(&major, &minor, &release);
    if ((major == UCT_VERNO_MAJOR) && (minor == UCT_VERNO_MINOR)) {
        return UCS_OK;
    }

    uct_predreg_step_aside("this process uses UCX %u.%u, accepted is %d.%d, "
                           "which it was built for", major, minor,
                           UCT_VERNO_MAJOR, UCT_VERNO_MINOR);
    return UCS_ERR_UNSUPPORTED;
}

/* Become one of the node's processes, if there is a bound to keep together.
 * Helpers join later, see uct_predreg_node_join(). */
static ucs_status_t bounds_join(void)
{
    const uct_predreg_knobs_t *knobs     = &uct_predreg_core.knobs;
    ucs_rcache_pred_node_params_t params = {
        .max_bytes       = knobs->node_max_pinned,
        .max_regions     = knobs->node_max_regions,
        .reserve         = UCS_RCACHE_PRED_NODE_RESERVE,
        .reserve_regions = UCS_RCACHE_PRED_NODE_RESERVE_REGIONS
    };

    if ((params.max_bytes == UINT64_MAX) &&
        (params.max_regions == UINT64_MAX)) {
        return UCS_OK;
    }

    return ucs_rcache_pred_node_join(&params, &uct_predreg_core.node);
}

static void node_leave(void)
{
    if (uct_predreg_core.node != NULL) {
        ucs_rcache_pred_node_leave(uct_predreg_core.node);
        uct_predreg_core.node = NULL;
    }
}

unsigned uct_predreg_policy(void)
{
    return (uct_predreg_core.pred == NULL) ?
           uct_predreg_core.knobs.policy :
           ucs_rcache_pred_get_policy(uct_predreg_core.pred);
}

static ucs_status_t pred_create(void)
{
    const uct_predreg_knobs_t *knobs = &uct_predreg_core.knobs;
    ucs_rcache_pred_params_t params;
    ucs_rcache_pred_t *pred;
    ucs_status_t status;

    status = ucs_rcache_pred_thread_create(&uct_predreg_core.thread);
    if (status != UCS_OK) {
        goto err;
    }

    status = bounds_join();
    if (status != UCS_OK) {
        goto err_destroy_thread;
    }

    uct_predreg_record_create();
    uct_predreg_knobs_to_params(knobs, &params);
    params.ops       = &uct_predreg_pred_ops;
    params.sink      = uct_predreg_record_sink();
    params.arg       = uct_predreg_core.thread;
    params.node      = uct_predreg_core.node;
    params.max_bytes = uct_predreg_max_bytes();
    status           = ucs_rcache_pred_create(&params, &pred);
    if (status != UCS_OK) {
        goto err_leave_node;
    }

    uct_predreg_core.pred = pred;
    if (uct_predreg_policy() != knobs->policy) {
        ucs_debug("there is no helper: %s is %s",
                  ucs_rcache_pred_policy_names[knobs->policy],
                  ucs_rcache_pred_policy_names[uct_predreg_policy()]);
    }
    return UCS_OK;

err_leave_node:
    node_leave();
err_destroy_thread:
    ucs_rcache_pred_thread_destroy(uct_predreg_core.thread);
    uct_predreg_core.thread = NULL;
err:
    return status;
}

int uct_predreg_is_managing(void)
{
    int managing;

    if ((uct_predreg_core.knobs.policy ==
         UCS_RCACHE_PRED_POLICY_LEAVE_PINNED) ||
        atomic_load_explicit(&uct_predreg_core.aside, memory_order_relaxed)) {
        return 0;
    }

    pthread_mutex_lock(&uct_predreg_core.lock);
    managing = (uct_predreg_core.pred != NULL) || (pred_create() == UCS_OK);
    pthread_mutex_unlock(&uct_predreg_core.lock);
    return managing;
}

void uct_predreg_helper_start(void)
{
    ucs_status_t status;

    /* On demand, whoever ends a use deregisters: there is nothing to help */
    if (uct_predreg_policy() != UCS_RCACHE_PRED_POLICY_PREDICT) {
        return;
    }

    if (uct_predreg_core.num_opened == 0) {
        uct_predreg_node_join();
    }

    if (uct_predreg_core.knobs.helper == UCS_RCACHE_PRED_HELPER_PROGRESS) {
        return;
    }

    status = ucs_rcache_pred_thread_start(uct_predreg_core.thread,
                                          uct_predreg_core.pred);
    if (status != UCS_OK) {
        ucs_warn("the helper thread cannot start (%s): memory is registered on "
                 "demand", ucs_status_string(status));
        ucs_rcache_pred_without_helper(uct_predreg_core.pred);
    }
}

void uct_predreg_core_reset(void)
{
    unsigned i;

    /* Held by the thread that forked, which is this one, or by nobody */
    pthread_mutex_init(&uct_predreg_core.lock, NULL);
    for (i = 0; i < UCT_PREDREG_MAX_DOMAINS; ++i) {
        uct_predreg_core.domains[i].super = NULL;
        atomic_store_explicit(&uct_predreg_core.domains[i].md, NULL,
                              memory_order_relaxed);
    }

    uct_predreg_record_reset();
    uct_predreg_watch_reset();
    /* Not destroyed: that would deregister what the parent registered */
    uct_predreg_core.pred       = NULL;
    uct_predreg_core.thread     = NULL;
    if (uct_predreg_core.node != NULL) {
        ucs_rcache_pred_node_abandon(uct_predreg_core.node);
        uct_predreg_core.node = NULL;
    }
    uct_predreg_live_reset();
    uct_predreg_core.num_opened = 0;
    atomic_init(&uct_predreg_core.num_managed, 0);
    atomic_init(&uct_predreg_core.devices, 0);
    uct_predreg_ifaces_reset();
    atomic_init(&uct_predreg_core.passed_uses, 0);
    atomic_init(&uct_predreg_core.pool_bytes, 0);
    atomic_init(&uct_predreg_core.kernel_pinned, 0);
    uct_predreg_foreign_reset();
    uct_predreg_core.pid = getpid(); /* After pred: see vm_unmapped() */
}

/* Everything that can fail is done before UCX's own caches are switched off */
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
        uct_predreg_watch_start();
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
uct_predreg_core_init(const uct_predreg_real_t *real)
{
    uct_predreg_core.real = *real;
    uct_predreg_core.rank = uct_predreg_process_rank();
    uct_predreg_core.pid  = getpid();

    if (uct_predreg_check_version(real) != UCS_OK) {
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

/* The process exits. Domains that were not closed stay as they are: UCX is
 * going away as well. So does the seat: another thread may be in a round, and
 * the node notices when the process is gone */
UCS_F_DTOR static void core_exit(void)
{
    if (uct_predreg_core.pid != getpid()) {
        return; /* A child that fork handlers did not see */
    }

    if (uct_predreg_core.thread != NULL) {
        ucs_rcache_pred_thread_stop(uct_predreg_core.thread);
    }

    uct_predreg_summary_print();
    uct_predreg_live_stop();
    uct_predreg_record_finish();
    /* The node's processes are not left: other threads may still communicate.
     * The kernel and the other processes see to that. */
}
