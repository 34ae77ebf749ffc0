/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "state.h"

#include <ucs/base/clock.h>
#include <ucs/base/wait.h>


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

/* Progress a worker until a request is complete, or until the time @a end, but once at
 * least if the request is not complete yet. @return the status of the request */
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

ucs_status_t ucp_win_way_wait(ucp_win_way_t *way, void *request)
{
    int is_slow = ucs_relaxed_load(&way->is_slow);
    ucs_status_t status;

    status = wait_until(way->context, way->super.worker, request,
                        is_slow ? 0 : ucs_monotonic_ns() + UCP_WIN_PATIENCE);
    ucs_relaxed_store(&way->is_slow, status == UCS_INPROGRESS);
    return status;
}

/* Whether a way has operations that may be incomplete, beside those in flushes of the
 * program */
static int is_begun(const ucp_win_way_t *way)
{
    return (way->super.num_unflushed > 0) || (way->super.num_flushes > 0);
}

/* Flush the endpoints of a worker that only this thread uses now, until the time @a end
 * at most. Leave endpoints without operations alone: some may not be connected yet */
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

/* Flush a worker on which other threads may begin operations and close endpoints
 * meanwhile. Flush the worker as a whole, since this thread cannot tell how long an
 * endpoint stays open. But UCX 1.18 fails an assertion if another thread closes an
 * endpoint by force before this flush has ended */
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
