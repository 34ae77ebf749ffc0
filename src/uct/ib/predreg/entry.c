/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "entry.h"

#include <uct/ib/predreg/compat/packed_key.h>
#include <uct/ib/predreg/core/addon.h>
#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/iface/iface.h>
#include <uct/ib/predreg/md/md.h>
#include <uct/ib/predreg/md/domain.h>

#include <ucs/debug/log_def.h>

#include <stdatomic.h>


/* Communications and waits of the program */

/* Whether the cache manages memory of any domain. Relaxed: a thread that does not see the
 * first domain yet looks again at its next communication or wait */
static int is_managing(uct_predreg_core_t *core)
{
    return ucs_relaxed_load(&core->num_managed) > 0;
}

/* @return a number that tells communications of one call site apart: the number of the
 * path of calls that led to the call site; without a table of paths, an address that
 * stands for the depth of the stack */
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
    const uct_predreg_observer_t *observer = core->observer;
    ucs_rcache_pred_context_t context;

    /* Nobody would look for the context: no trace is recorded, and no domain is managed,
     * since UCX keeps everything registered (leave-pinned) or there is no adapter */
    if (!is_managing(core) && (observer == NULL)) {
        return;
    }

    ucs_rcache_pred_context_add(&issuer->window, core->knobs.window, comm->kind,
                                comm->buffer, comm->caller,
                                path_of(core, issuer, comm), &context);
    uct_predreg_posted_put(comm->buffer, &context);
    if (ucs_unlikely(observer != NULL)) {
        observer->site(observer->super.arg, &context);
    }
}

void uct_predreg_idle(uct_predreg_core_t *core, ucs_rcache_pred_idle_t *idle)
{
    /* Before the first domain is managed the cache has no work: then the core need not be
     * told of the next waits of this thread */
    if ((core->pred != NULL) && is_managing(core)) {
        ucs_rcache_pred_idle(core->pred, idle);
    } else {
        idle->skip = UCS_RCACHE_PRED_IDLE_MAX - 1;
    }
}


/* Keys to registered memory, for peers */

/* The key under packing in this thread */
static __thread uct_predreg_packed_key_t packed_key;


/* @return the pieces handle behind a handle from UCP; NULL: it is a handle of UCX */
static uct_predreg_pieces_memh_t *
pieces_of(const uct_predreg_domain_t *domain, uct_mem_h memh)
{
    return (domain->cache == NULL) ? NULL : uct_predreg_memh_to_pieces(memh);
}

static UCS_F_NOINLINE ucs_status_t refuse_pieces(void)
{
    ucs_error("a key was asked for memory that is registered in pieces, which "
              "no peer can access");
    return UCS_ERR_UNSUPPORTED;
}

ucs_status_t
uct_predreg_mkey_begin(uct_predreg_domain_t *domain, uct_mem_h memh)
{
    if (ucs_unlikely(pieces_of(domain, memh) != NULL)) {
        return refuse_pieces();
    }

    uct_predreg_domain_enter(domain);
    return UCS_OK;
}

static int is_keyless(const uct_predreg_domain_t *domain, uct_mem_h memh)
{
    const uct_predreg_pieces_memh_t *pieces = pieces_of(domain, memh);

    return (pieces != NULL) && pieces->keyless;
}

/* Withdraw the key under packing: UCP packs a part of the key with a keyless handle, and
 * the memory of the handle is not registered */
static ucs_status_t withdraw(const uct_predreg_core_t *core)
{
    /* Relaxed: see state.h */
    unsigned num_domains = ucs_relaxed_load(&core->max_domains);
    ucs_status_t status;

    status = uct_predreg_packed_key_withdraw(&packed_key, num_domains);
    if (status != UCS_OK) {
        ucs_error("memory that does not fit the bounds cannot be received into "
                  "with %u memory domains", num_domains);
    }
    return status;
}

/* Pack a key. In a managed domain this thread is the only one in the domain meanwhile */
static UCS_F_ALWAYS_INLINE ucs_status_t
pack(const uct_predreg_core_t *core, uct_predreg_domain_t *domain, uct_md_h md,
     uct_mem_h memh, const uintptr_t *args)
{
    ucs_status_t status;

    if (domain != NULL) {
        status = uct_predreg_mkey_begin(domain, memh);
        if (ucs_unlikely(status != UCS_OK)) {
            return status;
        }
    }

    status = core->real.uct_md_mkey_pack_v2(md, memh, args[0], args[1], args[2],
                                            args[3]);
    if (domain != NULL) {
        uct_predreg_domain_leave(domain);
    }
    return status;
}

/* Pack a domain's part of a key of UCP, in a process where UCP has keyless handles */
static UCS_F_NOINLINE ucs_status_t
pack_part(const uct_predreg_core_t *core, uct_predreg_domain_t *domain,
          uct_md_h md, uct_mem_h memh, const uintptr_t *args)
{
    ucs_status_t status;

    /* In the versions of UCX with keyless handles, the domain writes its part of the key
     * to the address in the last argument */
    uct_predreg_packed_key_part(&packed_key, (void*)args[3]);

    status = ((domain != NULL) && is_keyless(domain, memh)) ?
             withdraw(core) : pack(core, domain, md, memh, args);
    if (status != UCS_OK) {
        uct_predreg_packed_key_fail(&packed_key);
    }
    return status;
}

ucs_status_t
uct_predreg_mkey_pack_v2(uct_predreg_core_t *core, uct_md_h md, uct_mem_h memh,
                         const uintptr_t *args, int is_ucp)
{
    uct_predreg_domain_t *domain = uct_predreg_domain_find(md);

    /* Only if UCP has keyless handles, a key may have to be withdrawn, and the core notes
     * the key of each part. Relaxed: see state.h */
    return ucs_unlikely(ucs_relaxed_load(&core->has_keyless) && is_ucp) ?
           pack_part(core, domain, md, memh, args) :
           pack(core, domain, md, memh, args);
}


/* The hooks */

uct_predreg_core_t uct_predreg_core = UCT_PREDREG_CORE_INITIALIZER;


static void ucp_config(const uct_predreg_real_t *real, ucp_config_t *config)
{
    uct_predreg_ucp_config(&uct_predreg_core, real, config);
}

static void md_config(uct_component_h component, uct_md_config_t *config)
{
    uct_predreg_md_config(&uct_predreg_core, component, config);
}

static void md_opened(uct_md_h md, const char *name, unsigned count)
{
    uct_predreg_md_opened(&uct_predreg_core, md, name, count);
}

static void md_closing(uct_md_h md)
{
    uct_predreg_md_closing(&uct_predreg_core, md);
}

static void md_query(uct_md_h md, uct_md_attr_t *attr)
{
    uct_predreg_md_query(&uct_predreg_core, md, attr);
}

static void md_query_v2(uct_md_h md, uct_md_attr_v2_t *attr)
{
    uct_predreg_md_query_v2(&uct_predreg_core, md, attr);
}

static void iface_opened(uct_md_h md, uct_worker_h worker, uct_iface_h iface)
{
    uct_predreg_iface_opened(&uct_predreg_core, md, worker, iface);
}

/* Each hook below looks up UCT's domain (md) in the table of domains. If the domain is not
 * there, a registration goes to UCX unchanged, and mkey_begin(), md_enter() and md_leave()
 * do nothing. A deregistration goes to UCX, too, unless it is of a handle that a forked
 * child has inherited: see uct_predreg_unknown_mem_dereg() */

static ucs_status_t mem_reg(uct_md_h md, void *address, size_t length,
                            unsigned flags, uct_predreg_purpose_t purpose,
                            uct_mem_h *memh_p)
{
    uct_predreg_domain_t *domain = uct_predreg_domain_find(md);

    return ucs_unlikely(domain == NULL) ?
           uct_predreg_core.compat->mem_reg(&uct_predreg_core.real, md, address,
                                            length, flags, memh_p) :
           uct_predreg_mem_reg(domain, address, length, flags, purpose,
                               memh_p);
}

static ucs_status_t
device_mem_reg(uct_md_h md, void *address, size_t length,
               const uct_md_mem_reg_params_t *params,
               uct_predreg_purpose_t purpose, uct_mem_h *memh_p)
{
    uct_predreg_domain_t *domain = uct_predreg_domain_find(md);

    return (domain == NULL) ?
           uct_predreg_core.real.uct_md_mem_reg_v2(md, address, length, params,
                                                   memh_p) :
           uct_predreg_device_mem_reg(domain, address, length, params, purpose,
                                      memh_p);
}

static ucs_status_t
mem_dereg(uct_md_h md, const uct_md_mem_dereg_params_t *params)
{
    uct_predreg_domain_t *domain = uct_predreg_domain_find(md);

    return ucs_unlikely(domain == NULL) ?
           uct_predreg_unknown_mem_dereg(&uct_predreg_core, md, params) :
           uct_predreg_mem_dereg(domain, params);
}

static ucs_status_t mkey_begin(uct_md_h md, uct_mem_h memh)
{
    uct_predreg_domain_t *domain = uct_predreg_domain_find(md);

    return (domain == NULL) ? UCS_OK : uct_predreg_mkey_begin(domain, memh);
}

static ucs_status_t
mkey_pack_v2(uct_md_h md, uct_mem_h memh, const uintptr_t *args, int is_ucp)
{
    return uct_predreg_mkey_pack_v2(&uct_predreg_core, md, memh, args, is_ucp);
}

static void md_enter(uct_md_h md)
{
    uct_predreg_domain_t *domain = uct_predreg_domain_find(md);

    if (domain != NULL) {
        uct_predreg_domain_enter(domain);
    }
}

static void md_leave(uct_md_h md)
{
    uct_predreg_domain_t *domain = uct_predreg_domain_find(md);

    if (domain != NULL) {
        uct_predreg_domain_leave(domain);
    }
}

static void closing(ucp_worker_h worker)
{
    uct_predreg_note_pinned(&uct_predreg_core);
}

static void idle(uct_predreg_sender_t **sender_p, ucs_rcache_pred_idle_t *idle,
                 ucp_worker_h worker)
{
    uct_predreg_idle(&uct_predreg_core, idle);
}

static int alter(const void *address, size_t length, int prot)
{
    if (prot != -1) {
        uct_predreg_vm_protected(&uct_predreg_core, address, length, prot);
    }
    return 0;
}

static void
comm_issued(uct_predreg_issuer_t *issuer, const uct_predreg_comm_t *comm)
{
    uct_predreg_comm(&uct_predreg_core, issuer, comm);
}

static int is_managed(uct_md_h md, const void *address, size_t length)
{
    uct_predreg_domain_t *domain = uct_predreg_domain_find(md);

    return (domain != NULL) && (domain->cache != NULL) &&
           ((address == NULL) || uct_predreg_is_host_memory(address, length));
}

const uct_predreg_hooks_t uct_predreg_hooks = {
    .ucp_config   = ucp_config,
    .md_config    = md_config,
    .allocated    = uct_predreg_pool_allocated,
    .md_opened    = md_opened,
    .md_closing   = md_closing,
    .md_query     = md_query,
    .md_query_v2  = md_query_v2,
    .iface_opened = iface_opened,
    .mem_reg      = mem_reg,
    .device_mem_reg = device_mem_reg,
    .mem_dereg    = mem_dereg,
    .mkey_begin   = mkey_begin,
    .mkey_pack_v2 = mkey_pack_v2,
    .md_enter     = md_enter,
    .md_leave     = md_leave,
    .closing      = closing,
    .may_sleep    = uct_predreg_may_sleep,
    .idle         = idle,
    .alter        = alter,
    .comm         = comm_issued,
    .is_managed   = is_managed
};
