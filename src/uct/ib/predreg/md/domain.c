/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "memlock.h"
#include "posted.h"

#include <uct/ib/predreg/core/core.h>
#include <uct/ib/predreg/core/record.h>
#include <uct/ib/predreg/iface/iface.h>
#include <uct/ib/predreg/iface/pieces_memh.h>

#include <ucs/debug/log_def.h>
#include <ucs/memory/memtype_cache.h>
#include <ucs/sys/string.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The component whose domains pin memory for a network adapter */
#define MANAGED_COMPONENT "ib"

/* Flags of uses that come and go. Anything else asks for something special: UCX
 * pins its own pools with LOCK and keeps them. */
#define MANAGED_FLAGS (UCT_MD_MEM_ACCESS_ALL | UCT_MD_MEM_FLAG_HIDE_ERRORS)

/* What UCX reports for a registration that its own cache answers (1.13:
 * RCACHE_OVERHEAD of the domain), seconds. Reporting the same keeps UCP's
 * choice of protocols what it is without this library. */
#define HIT_COST 180e-9


static int has_devices(void)
{
    /* Relaxed: see core.h */
    return atomic_load_explicit(&uct_predreg_core.devices,
                                memory_order_relaxed);
}

/* Managed is only memory of the host: no unmap event tells when memory of a
 * device goes */
static int is_host_memory(const void *address, size_t length)
{
    ucs_memory_info_t info;

    switch (ucs_memtype_cache_lookup(address, length, &info)) {
    case UCS_OK:
        return info.type == UCS_MEMORY_TYPE_HOST;
    case UCS_ERR_NO_ELEM:
        return 1; /* Only memory of devices is in that cache */
    default:
        return !has_devices(); /* Switched off */
    }
}

/* Errors of ibv_reg_mr that no room would mend. UCX 1.13 returns an I/O error
 * for all of them; any other one may mean that there is no room. */
static int is_bad_memory(int error)
{
    return (error == EFAULT) || (error == EINVAL) || (error == EACCES) ||
           (error == EPERM) || (error == EOPNOTSUPP);
}

/* Register with a domain. @return UCS_ERR_NO_MEMORY if there may be no room. */
static ucs_status_t domain_mem_reg_any(uct_md_h md, void *address,
                                       size_t length, unsigned flags,
                                       void **memh_p)
{
    ucs_status_t status;

    errno  = 0;
    status = uct_predreg_core.real.uct_md_mem_reg(md, address, length, flags,
                                                  memh_p);
    return ((status == UCS_ERR_IO_ERROR) && !is_bad_memory(errno)) ?
           UCS_ERR_NO_MEMORY : status;
}

static ucs_status_t domain_mem_reg(void *arg, void *address, size_t length,
                                   unsigned flags, void **memh_p)
{
    return is_host_memory(address, length) ?
           domain_mem_reg_any(arg, address, length, flags, memh_p) :
           UCS_ERR_UNSUPPORTED;
}

static ucs_status_t domain_mem_dereg(void *arg, void *memh)
{
    return uct_predreg_core.real.uct_md_mem_dereg(arg, memh);
}

const ucs_rcache_pred_ops_t uct_predreg_pred_ops = {
    .now       = ucs_rcache_pred_thread_now,
    .wait      = ucs_rcache_pred_thread_wait,
    .wake      = ucs_rcache_pred_thread_wake,
    .mem_reg   = domain_mem_reg,
    .mem_dereg = domain_mem_dereg,
    .seat      = uct_predreg_seat,
    .publish   = uct_predreg_publish
};

/* @return NULL if the domain is neither managed nor watched */
static UCS_F_ALWAYS_INLINE uct_predreg_domain_t *domain_find(uct_md_h md)
{
    uct_predreg_domain_t *domain;

    for (domain = uct_predreg_core.domains;
         domain < uct_predreg_core.domains + UCT_PREDREG_MAX_DOMAINS;
         ++domain) {
        /* Relaxed: see uct_predreg_domain_t */
        if (atomic_load_explicit(&domain->md, memory_order_relaxed) == md) {
            return domain;
        }
    }

    return NULL;
}

static void domain_add(uct_md_h md, const char *name)
{
    uct_predreg_domain_t *domain = domain_find(NULL);
    ucs_status_t status;

    if (domain == NULL) {
        ucs_warn("%s is not managed: there are %d managed domains already",
                 name, UCT_PREDREG_MAX_DOMAINS);
        return;
    }

    if (uct_predreg_core.num_opened == 0) {
        uct_predreg_live_start();
    }

    domain->super  = NULL;
    domain->number = uct_predreg_core.num_opened;
    atomic_store_explicit(&domain->whole, 0, memory_order_relaxed);
    if (uct_predreg_core.pred != NULL) {
        uct_predreg_helper_start();
        status = ucs_rcache_pred_domain_create(uct_predreg_core.pred, name, md,
                                               &domain->super);
        if (status != UCS_OK) {
            ucs_warn("%s is not managed: %s", name, ucs_status_string(status));
            return;
        }
        domain->number = ucs_rcache_pred_domain_get_number(domain->super);
        atomic_fetch_add_explicit(&uct_predreg_core.num_managed, 1,
                                  memory_order_relaxed);
    } else {
        uct_predreg_watch_open();
    }
    uct_predreg_record_domain(domain->number, name);
    ++uct_predreg_core.num_opened;

    /* Relaxed: see uct_predreg_domain_t */
    atomic_store_explicit(&domain->md, md, memory_order_relaxed);
    uct_predreg_publish(NULL);
    ucs_debug("%s: %s", name,
              ucs_rcache_pred_policy_names[uct_predreg_policy()]);
}

void uct_predreg_md_opened(uct_md_h md, const char *name)
{
    uct_md_attr_t attr;
    ucs_status_t status;

    /* Makes the cache, if this is a forked child */
    if (!uct_predreg_is_managing() &&
        (uct_predreg_core.knobs.policy !=
         UCS_RCACHE_PRED_POLICY_LEAVE_PINNED)) {
        return;
    }

    status = uct_predreg_core.real.uct_md_query(md, &attr);
    if ((status == UCS_OK) &&
        (attr.cap.detect_mem_types & ~UCS_BIT(UCS_MEMORY_TYPE_HOST))) {
        atomic_store_explicit(&uct_predreg_core.devices, 1,
                              memory_order_relaxed);
    }

    if ((status != UCS_OK) || !(attr.cap.flags & UCT_MD_FLAG_REG) ||
        strcmp(attr.component_name, MANAGED_COMPONENT)) {
        return;
    }

    pthread_mutex_lock(&uct_predreg_core.lock);
    domain_add(md, name);
    pthread_mutex_unlock(&uct_predreg_core.lock);
}

void uct_predreg_md_closing(uct_md_h md)
{
    uct_predreg_domain_t *domain;

    pthread_mutex_lock(&uct_predreg_core.lock);
    domain = domain_find(md);
    if (domain != NULL) {
        uct_predreg_note_pinned();
        if (domain->super != NULL) {
            ucs_rcache_pred_domain_destroy(domain->super);
            atomic_fetch_sub_explicit(&uct_predreg_core.num_managed, 1,
                                      memory_order_relaxed);
        }
        atomic_store_explicit(&domain->md, NULL, memory_order_relaxed);
        uct_predreg_publish(NULL);
    }
    pthread_mutex_unlock(&uct_predreg_core.lock);
}

void uct_predreg_md_query(uct_md_h md, uct_md_attr_t *attr)
{
    uct_predreg_domain_t *domain = domain_find(md);

    if ((domain != NULL) && (domain->super != NULL) &&
        (uct_predreg_policy() == UCS_RCACHE_PRED_POLICY_PREDICT)) {
        attr->reg_cost = ucs_linear_func_make(HIT_COST, 0);
    }
}

static int has_bounds(void)
{
    const uct_predreg_knobs_t *knobs = &uct_predreg_core.knobs;

    return (uct_predreg_max_bytes() != UINT64_MAX) ||
           (knobs->max_regions != ULONG_MAX) ||
           (knobs->node_max_pinned != SIZE_MAX) ||
           (knobs->node_max_regions != ULONG_MAX);
}

void uct_predreg_iface_opened(uct_md_h md, uct_worker_h worker,
                              uct_iface_h iface)
{
    uct_predreg_domain_t *domain = domain_find(md);

    if ((domain == NULL) || (domain->super == NULL)) {
        return;
    }

    pthread_mutex_lock(&uct_predreg_core.lock);
    if (uct_predreg_iface_wrap(iface, worker) != UCS_OK) {
        if (!atomic_load_explicit(&domain->whole, memory_order_relaxed) &&
            has_bounds()) {
            ucs_warn("messages cannot be moved in pieces with this transport: "
                     "what does not fit the bounds on pinned memory will fail");
        }
        /* Relaxed: a handle that is given out meanwhile has been given out
         * before this interface is there to be handed it */
        atomic_store_explicit(&domain->whole, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&uct_predreg_core.lock);
}

static ucs_status_t pass_mem_reg(uct_md_h md, void *address, size_t length,
                                 unsigned flags, uct_mem_h *memh_p)
{
    return uct_predreg_core.real.uct_md_mem_reg(md, address, length, flags,
                                                memh_p);
}

/* Memory of a managed domain that is none of ours: UCX's own pools and the
 * like. If the system refuses it, what is idle gives way. */
static ucs_status_t foreign_mem_reg(uct_predreg_domain_t *domain, uct_md_h md,
                                    void *address, size_t length,
                                    unsigned flags, uct_mem_h *memh_p)
{
    int is_pool = (flags & UCT_MD_MEM_FLAG_LOCK) != 0;
    ucs_status_t status;

    if (domain->super == NULL) {
        status = pass_mem_reg(md, address, length, flags, memh_p);
        if ((status == UCS_OK) && is_pool) {
            uct_predreg_pool_add(length);
        }
        return status;
    }

    status = domain_mem_reg_any(md, address, length,
                                flags | UCT_MD_MEM_FLAG_HIDE_ERRORS, memh_p);
    if (status == UCS_ERR_NO_MEMORY) {
        ucs_rcache_pred_purge(uct_predreg_core.pred);
    }

    if (status != UCS_OK) {
        status = pass_mem_reg(md, address, length, flags, memh_p);
    }

    if (status == UCS_OK) {
        uct_predreg_foreign_add(*memh_p, address, length, is_pool);
    }
    return status;
}

static void complain_of_bounds(const void *address, size_t length)
{
    char bytes[32], node_bytes[32];

    ucs_memunits_to_str(uct_predreg_max_bytes(), bytes, sizeof(bytes));
    ucs_memunits_to_str(uct_predreg_core.knobs.node_max_pinned, node_bytes,
                        sizeof(node_bytes));
    ucs_error("%zu bytes at %p have to be registered as a whole, as windows of "
              "one-sided communication have, and do not fit the bounds beside "
              "what is in use: %s for this process (UCX_RCACHE_PRED_MAX_PINNED "
              "and the limit of locked memory; or "
              "UCX_RCACHE_PRED_MAX_REGIONS), %s for the node "
              "(UCX_RCACHE_PRED_NODE_MAX_PINNED; or "
              "UCX_RCACHE_PRED_NODE_MAX_REGIONS)", length, address, bytes,
              node_bytes);
}

/* Whether a use can do without a registration of all its memory. UCP registers
 * what only moves data for RMA, without atomic operations, and says so if it
 * can be refused (UCX 1.13, ucp_request_memory_reg()). */
static int may_be_in_pieces(uct_predreg_domain_t *domain, unsigned flags,
                       uct_predreg_purpose_t purpose)
{
    /* Relaxed: see uct_predreg_iface_opened() */
    return (purpose != UCT_PREDREG_PURPOSE_MAPPED) &&
           !(flags & (UCT_MD_MEM_FLAG_HIDE_ERRORS |
                      UCT_MD_MEM_ACCESS_REMOTE_ATOMIC)) &&
           !atomic_load_explicit(&domain->whole, memory_order_relaxed);
}

static int is_one_sided(uct_predreg_purpose_t purpose)
{
    /* Relaxed: see core.h */
    return (purpose == UCT_PREDREG_PURPOSE_ONE_SIDED) ||
           atomic_load_explicit(&uct_predreg_core.fenced_puts,
                                memory_order_relaxed);
}

/* Where there are devices, UCP may be about to hand out a key to it */
static int is_last_resort(uct_predreg_purpose_t purpose)
{
    return is_one_sided(purpose) || (purpose == UCT_PREDREG_PURPOSE_SEND) ||
           has_devices();
}

/* A use that UCP does not expect to be refused, and that only moves data */
static ucs_status_t
begin_in_pieces(uct_predreg_domain_t *domain, void *address, size_t length,
           unsigned flags, uct_predreg_purpose_t purpose,
           const ucs_rcache_pred_context_t *context, uct_mem_h *memh_p)
{
    uct_predreg_pieces_memh_t *pieces;
    ucs_rcache_pred_pieces_t use;
    ucs_status_t status;

    use.last_resort = is_last_resort(purpose);
    status          = ucs_rcache_pred_begin_in_pieces(domain->super, address,
                                                 length, flags, context, &use,
                                                 memh_p);
    if (ucs_likely(status != UCS_INPROGRESS)) {
        return status;
    }

    pieces = calloc(1, sizeof(*pieces));
    if (pieces == NULL) {
        ucs_rcache_pred_end_in_pieces(&use);
        return UCS_ERR_NO_MEMORY;
    }

    pieces->use       = use;
    pieces->flags     = flags;
    pieces->one_sided = is_one_sided(purpose);
    *memh_p         = uct_predreg_pieces_to_memh(pieces);
    return UCS_OK;
}

/* A use that is left to UCX's own cache */
static ucs_status_t
watched_mem_reg(uct_predreg_domain_t *domain, void *address, size_t length,
                unsigned flags, uct_predreg_purpose_t purpose,
                uct_mem_h *memh_p)
{
    unsigned kind = UCS_RCACHE_PRED_USE_WHOLE;

    if (may_be_in_pieces(domain, flags, purpose)) {
        kind = is_last_resort(purpose) ? UCS_RCACHE_PRED_USE_LAST_RESORT :
                                         UCS_RCACHE_PRED_USE_PIECES;
    }

    uct_predreg_count_passed();
    return uct_predreg_watch_mem_reg(domain, address, length, flags, kind,
                                     memh_p);
}

ucs_status_t uct_predreg_mem_reg(uct_md_h md, void *address, size_t length,
                                 unsigned flags, uct_predreg_purpose_t purpose,
                                 uct_mem_h *memh_p)
{
    uct_predreg_domain_t *domain = domain_find(md);
    ucs_rcache_pred_context_t context;
    ucs_status_t status;

    if (domain == NULL) {
        return pass_mem_reg(md, address, length, flags, memh_p);
    }

    /* Bad arguments are for UCT to complain about */
    if (ucs_unlikely((flags & ~MANAGED_FLAGS) ||
                     !(flags & UCT_MD_MEM_ACCESS_ALL) || (length == 0) ||
                     (address == NULL))) {
        return foreign_mem_reg(domain, md, address, length, flags, memh_p);
    }

    if (ucs_unlikely(has_devices()) && !is_host_memory(address, length)) {
        return foreign_mem_reg(domain, md, address, length, flags, memh_p);
    }

    if (ucs_unlikely(domain->super == NULL)) {
        return watched_mem_reg(domain, address, length, flags, purpose,
                               memh_p);
    }

    uct_predreg_posted_get(address, &context);
    if (!may_be_in_pieces(domain, flags, purpose)) {
        status = ucs_rcache_pred_begin(domain->super, address, length, flags,
                                       &context, memh_p);
    } else {
        status = begin_in_pieces(domain, address, length, flags, purpose, &context,
                            memh_p);
    }

    if (ucs_unlikely(status == UCS_ERR_UNSUPPORTED)) {
        return foreign_mem_reg(domain, md, address, length, flags, memh_p);
    }

    if (ucs_unlikely((status == UCS_ERR_EXCEEDS_LIMIT) &&
                     !(flags & UCT_MD_MEM_FLAG_HIDE_ERRORS))) {
        complain_of_bounds(address, length);
    }

    return status;
}

static void invalidation_done(void *arg)
{
    uct_completion_t *comp = arg;

    /* As uct_invoke_completion(), which is not installed: the first error is
     * kept, and the last of count calls back. There is no error here. */
    if (--comp->count == 0) {
        comp->func(comp);
    }
}

static int is_invalidation(const uct_md_mem_dereg_params_t *params)
{
    return (params->field_mask & UCT_MD_MEM_DEREG_FIELD_FLAGS) &&
           (params->flags & UCT_MD_MEM_DEREG_FLAG_INVALIDATE);
}

static ucs_status_t end_in_pieces(uct_predreg_pieces_memh_t *pieces,
                             const uct_md_mem_dereg_params_t *params)
{
    uct_predreg_copy_cancel(pieces);
    ucs_rcache_pred_end_in_pieces(&pieces->use);
    free(pieces);
    if (is_invalidation(params)) {
        invalidation_done(params->comp); /* No peer ever had a key to it */
    }
    return UCS_OK;
}

ucs_status_t uct_predreg_mem_dereg(uct_md_h md,
                                   const uct_md_mem_dereg_params_t *params)
{
    uct_predreg_domain_t *domain = domain_find(md);
    ucs_status_t status          = UCS_ERR_NO_ELEM;
    uct_predreg_pieces_memh_t *pieces;

    if ((domain != NULL) && (domain->super == NULL)) {
        return uct_predreg_watch_mem_dereg(domain, params);
    }

    if (domain != NULL) {
        pieces = uct_predreg_memh_to_pieces(params->memh);
        if (ucs_unlikely(pieces != NULL)) {
            return end_in_pieces(pieces, params);
        }

        if (ucs_unlikely(is_invalidation(params))) {
            status = ucs_rcache_pred_invalidate(domain->super, params->memh,
                                                invalidation_done,
                                                params->comp);
        } else {
            status = ucs_rcache_pred_end(domain->super, params->memh);
        }
    }

    if (status != UCS_ERR_NO_ELEM) {
        return status;
    }

    /* Not one of ours: a pool of UCX, or registered before it was managed */
    status = uct_predreg_core.real.uct_md_mem_dereg_v2(md, params);
    if ((status == UCS_OK) && (domain != NULL)) {
        uct_predreg_foreign_remove(params->memh);
    }
    return status;
}

ucs_status_t uct_predreg_mkey_check(uct_md_h md, uct_mem_h memh)
{
    uct_predreg_domain_t *domain = domain_find(md);

    if ((domain == NULL) || (domain->super == NULL) ||
        (uct_predreg_memh_to_pieces(memh) == NULL)) {
        return UCS_OK;
    }

    ucs_error("a key was asked for memory that is registered in pieces, which "
              "no peer can access");
    return UCS_ERR_UNSUPPORTED;
}

