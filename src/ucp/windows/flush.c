/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "calls.h"

#include <ucs/base/clock.h>
#include <ucs/base/wait.h>
#include <ucs/debug/log_def.h>


/* One of so many progress calls of a worker looks at its ways, by chance: with a counter, a
 * thread that progresses two workers in turn would look at the same one each time */
#define LOOK_EVERY 16

/* A thread polls after so many progress calls in a row without effect: fewer are part of most
 * flushes, and a help costs half a microsecond */
#define POLLS_AFTER 4


/* Whether a worker is one of the context whose windows are served. Then Firehose stays while
 * the worker is there, unlike for other contexts, among them Firehose's own. Once Firehose
 * is known */
static int is_served(ucp_worker_h worker)
{
    /* mem_context was written before Firehose was made known, and does not change any
     * more */
    return ucs_map_find(&ucp_win.contexts, worker) == ucp_win.mem_context;
}

/* Do what is due for ways of a worker, but not for those of Firehose's own worker, which
 * Firehose progresses under locks */
static void look(ucp_fh_t *fh, ucp_worker_h worker)
{
    if ((fh != NULL) &&
        (atomic_load_explicit(&ucp_win.ways.num, memory_order_relaxed) > 0)) {
        ucp_fh_ways_flush_due(fh, &ucp_win.ways, worker);
    }
    if ((atomic_load_explicit(&ucp_win.num_closing, memory_order_relaxed) > 0) &&
        !ucp_win.env->is_in_progress() &&
        (ucs_map_find(&ucp_win.contexts, worker) != NULL)) {
        ucp_win_ways_end(worker);
    }
}

static int is_time_to_look(void)
{
    static __thread uint32_t number;

    number = (number * 1664525) + 1013904223; /* Of Numerical Recipes */
    return number < UINT32_MAX / LOOK_EVERY;
}

void ucp_win_way_progressed(ucp_worker_h worker, int is_idle)
{
    static __thread unsigned num_idle;
    ucp_win_entry_t entry = ucp_win_enter();
    ucp_fh_t *fh;

    if (ucs_unlikely(entry == UCP_WIN_REFUSED)) {
        return;
    }

    fh       = ucp_win_fh();
    num_idle = is_idle ? num_idle + 1 : 0;
    if ((num_idle >= POLLS_AFTER) && (fh != NULL) && is_served(worker)) {
        (void)ucp_fh_drive_help(fh);
    }
    if (is_time_to_look()) {
        look(fh, worker);
    }
    ucp_win_leave(entry);
}

void ucp_win_ways_help(ucp_context_h context)
{
    ucp_fh_t *fh = ucp_win_fh();
    unsigned i   = 0;
    ucp_win_worker_t *helped;

    for (; (helped = ucp_win_worker_get(context, i)) != NULL; ++i) {
        if (fh != NULL) {
            ucp_fh_ways_flush_due(fh, &ucp_win.ways, helped->worker);
        }
        (void)ucp_worker_progress(helped->worker);
        ucp_win_worker_put(helped);
    }
}

void ucp_win_worker_progress(ucp_context_h context, ucp_worker_h worker)
{
    if (ucp_worker_progress(worker) == 0) {
        ucp_win_ways_help(context);
        ucs_give_way(NULL);
    }
}

/* Progress a worker, once at least, until a request is complete, or until a time. @return the
 * status of the request */
static ucs_status_t
wait_until(ucp_context_h context, ucp_worker_h worker, void *request, uint64_t end)
{
    int is_early = 1;
    ucs_status_t status;

    while (((status = ucp_request_check_status(request)) == UCS_INPROGRESS) &&
           is_early) {
        ucp_win_worker_progress(context, worker);
        is_early = (ucs_monotonic_ns() < end);
    }
    return status;
}

/* Flush a way. @return UCS_INPROGRESS if that takes too long */
static ucs_status_t flush_way(ucp_win_way_t *way)
{
    const ucp_request_param_t param = {.op_attr_mask = 0};
    int is_slow = atomic_load_explicit(&way->is_slow, memory_order_relaxed);
    ucs_status_ptr_t request;
    ucs_status_t status;

    request = ucp_win_flush_nbx(way->super.worker, way->super.ep, &param);
    if (!UCS_PTR_IS_PTR(request)) {
        return UCS_PTR_STATUS(request);
    }

    status = wait_until(way->context, way->super.worker, request,
                        is_slow ? 0 : ucs_monotonic_ns() + UCP_WIN_PATIENCE);
    atomic_store_explicit(&way->is_slow, status == UCS_INPROGRESS,
                          memory_order_relaxed);
    ucp_request_free(request);
    return status;
}

ucs_status_t ucp_win_way_complete(ucp_win_way_t *way, ucs_status_ptr_t request)
{
    ucs_status_t status = flush_way(way);

    if (UCS_PTR_IS_PTR(request)) {
        status = (status == UCS_OK) ? ucp_request_check_status(request) : status;
        ucp_request_free(request);
    }
    return status;
}

/* Whether a way has operations that may be incomplete, beside those in flushes of the
 * program */
static int is_begun(const ucp_win_way_t *way)
{
    return (way->super.num_unflushed > 0) || (way->super.num_flushes > 0);
}

/* Flush a worker of this thread alone, until this time at most: only endpoints with
 * operations, since others may not be connected yet */
static void flush_own(ucp_fh_t *fh, const ucp_win_worker_t *worker, uint64_t end)
{
    ucp_win_way_t *way;

    while ((ucs_monotonic_ns() < end) &&
           ((way = ucp_win_way_get(&ucp_win.open_ways, worker->worker, is_begun)) !=
            NULL)) {
        (void)ucp_fh_way_flush(fh, &way->super, UCP_FH_FLUSH_IF_DIRTY);
        ucp_win_worker_progress(worker->context, worker->worker);
        ucp_fh_way_put(&way->super);
    }
}

/* Flush a worker of which other threads may close endpoints meanwhile, and begin more
 * operations */
static void flush_multi(const ucp_win_worker_t *worker, uint64_t end)
{
    const ucp_request_param_t param = {.op_attr_mask = 0};
    ucp_win_way_t *way;
    void *request;

    way = ucp_win_way_get(&ucp_win.open_ways, worker->worker, is_begun);
    if (way == NULL) {
        return;
    }

    ucp_fh_way_put(&way->super);
    request = ucp_worker_flush_nbx(worker->worker, &param);
    if (UCS_PTR_IS_PTR(request)) {
        (void)wait_until(worker->context, worker->worker, request, end);
        ucp_request_free(request);
    }
}

void ucp_win_ways_flush(ucp_context_h context)
{
    ucp_fh_t *fh = ucp_win_fh();
    uint64_t end = ucs_monotonic_ns() + UCP_WIN_PATIENCE;
    unsigned i   = 0;
    ucp_win_worker_t *worker;

    if (ucp_win.env->is_in_progress()) {
        return;
    }

    for (; (worker = ucp_win_worker_get(context, i)) != NULL; ++i) {
        if (worker->is_multi) {
            flush_multi(worker, end);
        } else {
            flush_own(fh, worker, end);
        }
        ucp_win_worker_put(worker);
    }
}


/* Flushes of the program */

/* Another flush will cover these pieces */
static void give_back(ucp_fh_t *fh, ucs_list_link_t *pieces)
{
    ucp_fh_lock(fh);
    ucp_fh_pieces_give_back(fh, pieces);
    ucp_fh_unlock(fh);
}

static ucs_status_ptr_t
begin(ucp_worker_h worker, ucp_ep_h ep, const ucp_request_param_t *param)
{
    ucp_fh_t *fh = ucp_win_tables();
    ucp_win_ticket_t *ticket;
    ucs_status_ptr_t request;
    ucs_list_link_t pieces;

    ucs_list_head_init(&pieces);
    ucp_fh_lock(fh);
    ucp_fh_ways_take(fh, &ucp_win.ways, worker, ep, &pieces);
    ucp_fh_unlock(fh);

    ticket = ucp_win_ticket_make(&pieces, param);
    if (ticket == NULL) {
        /* Not before: the call would come back here */
        request = ucp_fh_flush(worker, ep, param);
        give_back(fh, &pieces);
        return request;
    }

    request = ucp_fh_flush(worker, ep, &ticket->param);
    if (ucp_fh_flush_is_refused(request)) {
        give_back(fh, &ticket->pieces);
    }
    return ucp_win_ticket_issued(ticket, request);
}

ucs_status_ptr_t ucp_win_flush_nbx(ucp_worker_h worker, ucp_ep_h ep,
                                   const ucp_request_param_t *param)
{
    ucp_win_entry_t entry = ucp_win_enter_always();
    ucs_status_ptr_t request;

    request = begin(worker, ep, param);
    ucp_win_leave(entry);
    return request;
}

int ucp_win_needs_flush(ucp_worker_h worker, ucp_ep_h ep)
{
    int ret = 0;
    ucp_win_entry_t entry;
    ucp_fh_t *fh;

    if (atomic_load_explicit(&ucp_win.ways.num, memory_order_relaxed) == 0) {
        return 0;
    }

    entry = ucp_win_enter();
    fh    = (entry == UCP_WIN_REFUSED) ? NULL : ucp_win_fh();
    if (fh != NULL) {
        ucp_fh_lock(fh);
        ret = ucp_fh_ways_have(&ucp_win.ways, worker, ep);
        ucp_fh_unlock(fh);
    }
    ucp_win_leave(entry);
    return ret;
}
