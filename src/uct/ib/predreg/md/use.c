/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "use.h"
#include "domain.h"
#include "memlock.h"
#include "posted.h"
#include "register.h"
#include "watch.h"

#include <uct/ib/predreg/core/counters.h>
#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/iface/pieces_memh.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/string.h>

#include <stdlib.h>

/* Flags of uses that come and go. Anything else asks for something special: UCX
 * pins its own pools with LOCK and keeps them. */
#define MANAGED_FLAGS (UCT_MD_MEM_ACCESS_ALL | UCT_MD_MEM_FLAG_HIDE_ERRORS)


/* Memory of a managed domain that is none of ours: UCX's own pools and the
 * like. If the system refuses it, what is idle gives way. */
static ucs_status_t foreign_mem_reg(uct_predreg_domain_t *domain, uct_md_h md,
                                    void *address, size_t length,
                                    unsigned flags, uct_mem_h *memh_p)
{
    int is_pool = (flags & UCT_MD_MEM_FLAG_LOCK) != 0;
    ucs_status_t status;

    if (domain->super == NULL) {
        status = uct_predreg_pass_mem_reg(md, address, length, flags, memh_p);
        if ((status == UCS_OK) && is_pool) {
            uct_predreg_pool_add(length);
        }
        return status;
    }

    status = uct_predreg_try_mem_reg(md, address, length,
                                flags | UCT_MD_MEM_FLAG_HIDE_ERRORS, memh_p);
    if (status == UCS_ERR_NO_MEMORY) {
        ucs_rcache_pred_purge(uct_predreg_core.pred);
    }

    if (status != UCS_OK) {
        status = uct_predreg_pass_mem_reg(md, address, length, flags, memh_p);
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
           uct_predreg_has_devices();
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
    uct_predreg_domain_t *domain = uct_predreg_domain_find(md);
    ucs_rcache_pred_context_t context;
    ucs_status_t status;

    if (domain == NULL) {
        return uct_predreg_pass_mem_reg(md, address, length, flags, memh_p);
    }

    /* Bad arguments are for UCT to complain about */
    if (ucs_unlikely((flags & ~MANAGED_FLAGS) ||
                     !(flags & UCT_MD_MEM_ACCESS_ALL) || (length == 0) ||
                     (address == NULL))) {
        return foreign_mem_reg(domain, md, address, length, flags, memh_p);
    }

    if (ucs_unlikely(uct_predreg_has_devices()) && !uct_predreg_is_host_memory(address, length)) {
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
    uct_predreg_domain_t *domain = uct_predreg_domain_find(md);
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
    uct_predreg_domain_t *domain = uct_predreg_domain_find(md);

    if ((domain == NULL) || (domain->super == NULL) ||
        (uct_predreg_memh_to_pieces(memh) == NULL)) {
        return UCS_OK;
    }

    ucs_error("a key was asked for memory that is registered in pieces, which "
              "no peer can access");
    return UCS_ERR_UNSUPPORTED;
}
