/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "eager_int.h"

#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/md/domain.h>
#include <uct/ib/predreg/md/md.h>

#include <ucs/debug/log_def.h>

/*
 * What the core calls of this folder, as an add-on. Each hook here also calls the hook
 * that it has replaced (inner), before or after its own work.
 */


/* Written when the core starts, by one thread and before any thread calls a hook
 * (pthread_once() in preload.c); constant afterwards */
static uct_predreg_hooks_t inner;
static uct_predreg_core_t *core_of_hooks;


static void iface_opened(uct_md_h md, uct_worker_h worker, uct_iface_h iface)
{
    inner.iface_opened(md, worker, iface);
    uct_predreg_eager_iface_opened(iface);
}

/* Begin a use of a hot buffer. A buffer that cannot be registered, such as read-only
 * memory, is copied, as without this library, and no error is logged. Registrations for
 * measuring costs are not managed */
static UCS_F_NOINLINE ucs_status_t
hot_reg(uct_md_h md, void *address, size_t length, unsigned flags, uct_mem_h *memh_p)
{
    uct_predreg_domain_t *domain = uct_predreg_domain_find(md);
    ucs_status_t status;

    if (domain == NULL) {
        return inner.mem_reg(md, address, length, flags, UCT_PREDREG_PURPOSE_OPTIONAL, memh_p);
    }

    uct_predreg_quiet_begin();
    status = uct_predreg_is_measuring ?
             uct_predreg_pass_mem_reg(domain, address, length, flags, memh_p) :
             inner.mem_reg(md, address, length, flags, UCT_PREDREG_PURPOSE_OPTIONAL, memh_p);
    uct_predreg_quiet_end();

    if ((status == UCS_OK) && (domain->cache != NULL) && !uct_predreg_is_measuring) {
        uct_predreg_hot_registered(domain, *memh_p);
    } else if ((status != UCS_OK) && !(flags & UCT_MD_MEM_FLAG_HIDE_ERRORS)) {
        uct_predreg_quiet_once();
    }
    return status;
}

static ucs_status_t mem_reg(uct_md_h md, void *address, size_t length, unsigned flags,
                            uct_predreg_purpose_t purpose, uct_mem_h *memh_p)
{
    return ucs_unlikely(purpose == UCT_PREDREG_PURPOSE_OPTIONAL) ?
           hot_reg(md, address, length, flags, memh_p) :
           inner.mem_reg(md, address, length, flags, purpose, memh_p);
}

/* Ignore handles that UCP returns of a registration that has given way, since their uses
 * have ended already. UCX may have given such a handle to a new registration
 * meanwhile, so the handle does not tell: uct_predreg_hot_is_returning() tells by the
 * thread */
static ucs_status_t mem_dereg(uct_md_h md, const uct_md_mem_dereg_params_t *params)
{
    uct_predreg_domain_t *domain;

    if (ucs_unlikely(uct_predreg_hot_is_returning())) {
        domain = uct_predreg_domain_find(md);
        if ((domain != NULL) && (domain->cache != NULL)) {
            return UCS_OK;
        }
    }
    return inner.mem_dereg(md, params);
}

static void closing(ucp_worker_h worker)
{
    inner.closing(worker);
    uct_predreg_eager_remove_worker(worker);
}

static void idle(uct_predreg_sender_t **sender_p, ucs_rcache_pred_idle_t *idle,
                 ucp_worker_h worker)
{
    inner.idle(sender_p, idle, worker);
    uct_predreg_eager_idle(sender_p, worker, idle->last);
}

static void making(const uct_predreg_real_t *real, const ucp_params_t *params,
                   ucp_config_t *config, uct_predreg_making_t *making)
{
    uct_predreg_eager_making(core_of_hooks, real, uct_predreg_eager_gain_from, params,
                             config, making);
}

static void made(const uct_predreg_real_t *real,
                 const uct_predreg_making_t *making, ucp_config_t *config,
                 ucp_context_h context)
{
    uct_predreg_eager_made(core_of_hooks, real, making, config, context);
}

static unsigned needs(const uct_predreg_core_t *core)
{
    return core->knobs.eager ? UCT_PREDREG_NEEDS_UNMAPPED : 0;
}

static void
start(uct_predreg_core_t *core, uct_predreg_hooks_t *hooks, ucs_status_t events)
{
    inner = *hooks;
    if (core->knobs.eager || uct_predreg_is_traced(&core->knobs)) {
        /* A trace has the costs of small sends, whether EAGER is on or off */
        hooks->mem_reg = mem_reg;
    }
    if (!core->knobs.eager) {
        return;
    }

    if (events != UCS_OK) {
        ucs_warn("memory events of UCM are not available (%s): small sends are "
                 "copied in spite of UCX_RCACHE_PRED_EAGER=y",
                 ucs_status_string(events));
        return;
    }

    core_of_hooks        = core;
    hooks->iface_opened  = iface_opened;
    hooks->mem_dereg     = mem_dereg;
    hooks->closing       = closing;
    hooks->idle          = idle;
    hooks->send          = uct_predreg_eager_send;
    hooks->sent          = uct_predreg_eager_sent;
    hooks->freeing       = uct_predreg_hot_freeing;
    hooks->making        = making;
    hooks->made          = made;
    hooks->cleaning      = uct_predreg_eager_closing;
    hooks->worker_making = uct_predreg_eager_making_worker;
    hooks->worker_made   = uct_predreg_eager_add_worker;
    hooks->iface_query   = uct_predreg_eager_iface_query;
}

static void unmapped(uct_predreg_core_t *core, uintptr_t start, uintptr_t end)
{
    uct_predreg_hot_unmapped(start, end);
}

/* End a use of a hot buffer, to make room for other memory */
static void end_use(void *domain, uct_mem_h memh)
{
    const uct_md_mem_dereg_params_t params = {
        .field_mask = UCT_MD_MEM_DEREG_FIELD_MEMH,
        .memh       = memh
    };

    (void)uct_predreg_mem_dereg(domain, &params);
}

static int give_way(uct_predreg_core_t *core)
{
    return uct_predreg_hot_give_way(end_use);
}

/* Mark the registrations of all hot buffers as dead: nothing is sent from them any more,
 * and later sends have the buffers registered anew */
static void fork_prepare(uct_predreg_core_t *core)
{
    uct_predreg_hot_unmapped(0, UINTPTR_MAX);
}

static void fork_child(uct_predreg_core_t *core)
{
    uct_predreg_eager_fork();
}

static void count(uct_predreg_core_t *core, ucs_rcache_pred_snapshot_t *snapshot)
{
    uct_predreg_count_sends(snapshot);
}

const uct_predreg_addon_t uct_predreg_eager_addon = {
    .needs        = needs,
    .start        = start,
    .unmapped     = unmapped,
    .give_way     = give_way,
    .fork_prepare = fork_prepare,
    .fork_child   = fork_child,
    .count        = count,
    .tell         = uct_predreg_eager_tell
};
