/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "record.h"

#include <ucs/base/relaxed.h>
#include <ucs/reuse/sends.h>
#include <uct/ib/predreg/eager/eager.h>
#include <uct/ib/predreg/md/md.h>

#include <ucs/debug/log_def.h>



/* Constant after the start */
static uct_predreg_core_t *counting; /* The core whose sends are counted; NULL: none */
static uct_predreg_hooks_t inner;    /* The hooks before this add-on replaced some: the
                                        replacements call these as well */
static int is_eager;                 /* Whether inner has hooks for small sends
                                        (UCX_RCACHE_PRED_EAGER) */
static ucs_reuse_tally_t tally;

/* Threads that send, and threads that make contexts, read and write these three. The two
 * flags are relaxed: no thread reads other memory because of their values. real_ucp is
 * written with release and read with acquire, since the functions are behind it */
static _Atomic(int) is_begun;     /* Whether the first send was seen */
static _Atomic(int) has_messages; /* Whether a context was made for sends without a copy */
static _Atomic(const uct_predreg_real_t*) real_ucp; /* Functions of UCP; NULL: no context
                                                     * was made yet */

/* Costs of small sends, for the trace. The first thread that makes a worker measures the
 * costs; has_costs is written last, with release */
static atomic_flag is_measured = ATOMIC_FLAG_INIT;
static _Atomic(int) has_costs;
static ucs_reuse_costs_t costs;


/* Make the trace file at the first small send, as at the first domain: a process may send
 * small messages only, and open no domain for the trace */
static void begin(uct_predreg_core_t *core)
{
    uct_predreg_core_lock(core);
    if (core->knobs.policy == UCS_RCACHE_PRED_POLICY_LEAVE_PINNED) {
        uct_predreg_record_observe(core);
    }
    uct_predreg_record_begin(core);
    uct_predreg_core_unlock(core);
}

/* Whether UCP would copy the data of a send even if the buffer was kept registered */
static int is_copied(const ucp_request_param_t *param)
{
    return !ucs_relaxed_load(&has_messages) ||
           uct_predreg_eager_wants_fast_cmpl(param);
}

static unsigned
send_counted(uct_predreg_sender_t **sender_p, ucp_ep_h ep, const void *buffer,
             size_t length, const ucp_request_param_t *param,
             uct_predreg_send_t *send)
{
    if (uct_predreg_eager_is_plain(param)) {
        if (ucs_unlikely(!ucs_relaxed_load(&is_begun))) {
            ucs_relaxed_store(&is_begun, 1);
            begin(counting);
        }
        ucs_reuse_tally_note(&tally, buffer, length, is_copied(param));
    }

    return is_eager ? inner.send(sender_p, ep, buffer, length, param, send) :
                      0;
}

/* A context is about to be made. Until there is a context for messages, all sends count as
 * copied */
static void making_counted(const uct_predreg_real_t *real,
                           const ucp_params_t *params, ucp_config_t *config,
                           uct_predreg_making_t *making)
{
    if (uct_predreg_eager_has_messages(params)) {
        ucs_relaxed_store(&has_messages, 1);
    }

    if (is_eager) {
        inner.making(real, params, config, making);
    } else {
        *making = (uct_predreg_making_t){};
    }
}

static void made_counted(const uct_predreg_real_t *real,
                         const uct_predreg_making_t *making,
                         ucp_config_t *config, ucp_context_h context)
{
    atomic_store_explicit(&real_ucp, real, memory_order_release);
    if (is_eager) {
        inner.made(real, making, config, context);
    }
}

/* A worker was made. The first time, measure the costs of small sends on this machine,
 * for the end of the trace: a report reckons from them what sends without a copy would
 * gain */
static void worker_made_counted(ucp_context_h context, ucp_worker_h worker)
{
    const uct_predreg_real_t *real = atomic_load_explicit(&real_ucp,
                                                          memory_order_acquire);

    if (is_eager) {
        inner.worker_made(context, worker);
    }

    if ((worker == NULL) || (real == NULL) || !ucs_relaxed_load(&has_messages) ||
        atomic_flag_test_and_set_explicit(&is_measured, memory_order_relaxed)) {
        return;
    }

    ucs_reuse_costs_init(&costs);
    if (uct_predreg_eager_measure(real, context, &costs) == UCS_OK) {
        atomic_store_explicit(&has_costs, 1, memory_order_release);
    }
}

static void
start(uct_predreg_core_t *core, uct_predreg_hooks_t *hooks, ucs_status_t events)
{
    if (!uct_predreg_is_traced(&core->knobs)) {
        return;
    }

    if (ucs_reuse_tally_init(&tally, UCS_REUSE_TALLY_BITS) != UCS_OK) {
        ucs_warn("small sends are missing in the trace: out of memory");
        return;
    }

    inner              = *hooks;
    is_eager           = (inner.send != NULL);
    hooks->send        = send_counted;
    hooks->making      = making_counted;
    hooks->made        = made_counted;
    hooks->worker_made = worker_made_counted;
    counting = core;
}

static void put(void *recorder, const ucs_reuse_sends_t *sends)
{
    ucs_rcache_recorder_sends(recorder, sends);
}

static void finish(uct_predreg_core_t *core, const char *nothing)
{
    ucs_rcache_recorder_t *recorder = uct_predreg_recorder(core);
    char text[UCS_REUSE_COSTS_TEXT_MAX];

    if ((counting == NULL) || (recorder == NULL)) {
        return;
    }

    ucs_reuse_tally_for_each(&tally, put, recorder);
    if (atomic_load_explicit(&has_costs, memory_order_acquire)) {
        ucs_reuse_costs_print(&costs, text);
        ucs_rcache_recorder_meta(recorder, UCS_REUSE_COSTS_META, text);
    }
}

static void fork_child(uct_predreg_core_t *core)
{
    /* Before the first send nothing was written to the tally: a reset would only make the
     * kernel allocate its pages */
    if ((counting != NULL) && ucs_relaxed_load(&is_begun)) {
        ucs_reuse_tally_reset(&tally);
        ucs_relaxed_store(&is_begun, 0);
    }
}

const uct_predreg_addon_t uct_predreg_sends_addon = {
    .start      = start,
    .exit       = finish,
    .fork_child = fork_child
};
