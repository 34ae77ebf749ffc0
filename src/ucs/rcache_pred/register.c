/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "rcache_pred_int.h"

#include <ucs/debug/log_def.h>

/*
 * Registration and deregistration, with what they cost. Any thread.
 */


ucs_status_t pred_register(ucs_rcache_pred_domain_t *domain, uintptr_t start,
                           size_t length, unsigned flags, void **memh_p,
                           ucs_rcache_pred_time_t *end_p)
{
    ucs_rcache_pred_t *pred      = domain->pred;
    ucs_rcache_pred_time_t begin = pred_now(pred);
    ucs_status_t status;

    status = pred->ops.mem_reg(domain->arg, (void*)start, length, flags,
                               memh_p);
    *end_p = pred_now(pred);
    if (status != UCS_OK) {
        return status;
    }

    ucs_spin_lock(&pred->lock);
    ucs_rcache_pred_cost_update(&domain->reg_cost,
                                ucs_rcache_pred_pages(start, length),
                                pred_elapsed(begin, *end_p));
    ucs_spin_unlock(&pred->lock);
    return UCS_OK;
}

pred_handle_t pred_take_handle(ucs_rcache_pred_t *pred,
                               ucs_rcache_pred_region_t *region)
{
    pred_handle_t handle = {
        .domain = region->domain,
        .start  = region->start,
        .length = region->length,
        .held   = 0,
        .memh   = ucs_rcache_pred_region_take_memh(&pred->table, region)
    };

    ++handle.domain->releasing;
    ++pred->releasing;
    return handle;
}

void pred_deregister(const pred_handle_t *handle)
{
    ucs_rcache_pred_domain_t *domain = handle->domain;
    ucs_rcache_pred_t *pred          = domain->pred;
    ucs_rcache_pred_time_t begin, end;
    ucs_status_t status;

    begin  = pred_now(pred);
    status = pred->ops.mem_dereg(domain->arg, handle->memh);
    end    = pred_now(pred);
    if (status == UCS_OK) {
        pred_unreserve(pred, handle->start, handle->length, handle->held);
    } else {
        /* What the domain does not let go of stays pinned and stays counted */
        ucs_warn("%s: failed to deregister %p..%p: %s", domain->name,
                 (void*)handle->start, (void*)(handle->start + handle->length),
                 ucs_status_string(status));
    }

    ucs_spin_lock(&pred->lock);
    if (status == UCS_OK) {
        ++pred->stats.deregs;
        ucs_rcache_pred_cost_update(&domain->dereg_cost,
                                    ucs_rcache_pred_pages(handle->start,
                                                          handle->length),
                                    pred_elapsed(begin, end));
    }
    --pred->releasing;
    --domain->releasing; /* It may be gone from here on */
    ucs_spin_unlock(&pred->lock);
}
