/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "bound.h"
#include "event.h"

#include <ucs/rcache_pred/table/victim.h>

#include <ucs/debug/log_def.h>

/* While memory is short, a registration that takes this many times as long as expected has
 * waited for memory as well */
#define SLOW_TIMES 4

/*
 * Registers and deregisters memory, and measures what that costs. Any thread
 * may call these functions.
 */


/* Wait for the turn of this thread in the domain. The caller measures the cost of the
 * registration without this wait, which depends on other threads, and not on the
 * memory. */
static void domain_enter(const ucs_rcache_pred_domain_t *domain)
{
    if (domain->pred->ops.enter != NULL) {
        domain->pred->ops.enter(domain->arg);
    }
}

static void domain_leave(const ucs_rcache_pred_domain_t *domain)
{
    if (domain->pred->ops.leave != NULL) {
        domain->pred->ops.leave(domain->arg);
    }
}

/* How many pages this thread has waited for so far, which were in swap; 0 while memory is
 * not short */
static uint64_t count_faults(ucs_rcache_pred_t *pred, int is_short)
{
    return is_short ? pred->ops.faults(pred->params.arg) : 0;
}

/* While memory is short, note whether a registration has waited for pages that were in swap,
 * or for room for pages, and how long. Under lock. @return whether it has. */
static int note_read_back(pred_shortage_t *shortage, const ucs_rcache_pred_cost_t *cost,
                          size_t pages, ucs_rcache_pred_time_t time, uint64_t faults)
{
    ucs_rcache_pred_time_t usual = ucs_rcache_pred_cost_estimate(cost, pages);
    int has_waited               = (faults > 0) || (time > SLOW_TIMES * usual);

    if (has_waited) {
        shortage->read_back += pred_elapsed(usual, time);
        shortage->waited    += pred_elapsed(usual, time);
    }
    shortage->pages += pages;
    return has_waited;
}

/* Add the time of an operation to the estimate of its cost, unless it has waited for
 * memory, and emit its event. Under lock. */
static void account(const pred_handle_t *handle,
                    ucs_rcache_pred_event_type_t type, ucs_rcache_pred_by_t by,
                    ucs_rcache_pred_time_t begin, ucs_rcache_pred_time_t end,
                    int has_waited, ucs_status_t status)
{
    ucs_rcache_pred_domain_t *domain = handle->domain;

    if ((status == UCS_OK) && !has_waited) {
        ucs_rcache_pred_cost_update((type == UCS_RCACHE_PRED_EVENT_REG) ?
                                    &domain->reg_cost : &domain->dereg_cost,
                                    pred_pages(domain->pred, &handle->range),
                                    pred_elapsed(begin, end));
    }

    /* UCS_ERR_UNSUPPORTED means that the cache does not manage this memory.
     * Such an attempt is no event */
    if (pred_has_sink(domain->pred) && (status != UCS_ERR_UNSUPPORTED)) {
        pred_emit_registration(type, by, handle, begin, end, status);
    }
}

ucs_status_t pred_register(pred_handle_t *handle, ucs_rcache_pred_by_t by,
                           unsigned flags, ucs_rcache_pred_time_t *end_p)
{
    ucs_rcache_pred_t *pred = handle->domain->pred;
    size_t length           = ucs_rcache_pred_range_length(&handle->range);
    int is_short            = ucs_relaxed_load(&pred->shortage.is_short);
    ucs_rcache_pred_time_t begin;
    ucs_status_t status;
    int has_waited = 0;
    uint64_t faults;

    domain_enter(handle->domain);
    faults = count_faults(pred, is_short);
    begin  = pred_now(pred);
    status = pred->ops.mem_reg(handle->domain->arg, (void*)handle->range.start,
                               length, flags, &handle->memh);
    *end_p = pred_now(pred);
    faults = count_faults(pred, is_short) - faults;
    domain_leave(handle->domain);

    pred_lock(pred);
    if (status == UCS_OK) {
        handle->domain->bytes_now += length;
        ++handle->domain->regions_now;
    }
    if ((status == UCS_OK) && is_short) {
        has_waited = note_read_back(&pred->shortage, &handle->domain->reg_cost,
                                    pred_pages(pred, &handle->range),
                                    pred_elapsed(begin, *end_p), faults);
    }
    account(handle, UCS_RCACHE_PRED_EVENT_REG, by, begin, *end_p, has_waited,
            status);
    pred_unlock(pred);
    return status;
}

pred_handle_t pred_take_handle(ucs_rcache_pred_t *pred,
                               ucs_rcache_pred_extent_t *extent)
{
    pred_handle_t handle = pred_extent_handle(extent);

    handle.memh = ucs_rcache_pred_extent_take_memh(&pred->table, extent);
    /* The extent cannot give way any more: lower its rank now. Otherwise a search for a
     * victim would come upon each such extent, and lower the rank then. */
    ucs_rcache_pred_extent_rank(&pred->table, extent);
    ++handle.domain->releasing;
    ++pred->bound.releasing;
    return handle;
}

ucs_rcache_pred_time_t
pred_deregister(const pred_handle_t *handle, ucs_rcache_pred_by_t by)
{
    ucs_rcache_pred_domain_t *domain = handle->domain;
    ucs_rcache_pred_t *pred          = domain->pred;
    ucs_rcache_pred_time_t begin, end;
    ucs_status_t status;
    pred_reservation_t room;

    domain_enter(domain);
    begin  = pred_now(pred);
    status = pred->ops.mem_dereg(domain->arg, handle->memh);
    end    = pred_now(pred);
    domain_leave(domain);
    if (status == UCS_OK) {
        room         = pred_reservation(pred, &handle->range, PRED_PART_WHOLE);
        room.held    = handle->held;
        room.offered = handle->offered;
        /* Give room back to the node before this process: a thread that waits until this
         * handle is deregistered has to find room in both */
        if (pred->params.node != NULL) {
            pred_bound_give_node(pred, &room);
        }
    } else {
        /* Memory that could not be deregistered stays pinned, and stays
         * counted */
        ucs_warn("%s: failed to deregister %p..%p: %s", domain->name,
                 (void*)handle->range.start, (void*)handle->range.end,
                 ucs_status_string(status));
    }

    pred_lock(pred);
    if (status == UCS_OK) {
        (void)pred_bound_give_own(pred, &room, end);
        pred_bound_note_release(&pred->bound);
        ++pred->stats.deregs;
        domain->bytes_now -= ucs_rcache_pred_range_length(&handle->range);
        --domain->regions_now;
    }
    account(handle, UCS_RCACHE_PRED_EVENT_DEREG, by, begin, end, 0, status);
    --pred->bound.releasing;
    --domain->releasing; /* The domain may be destroyed from here on */
    pred_unlock(pred);
    return end;
}
