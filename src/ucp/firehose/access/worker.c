/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "access.h"

#include <ucs/debug/log_def.h>

#include <stdlib.h>

/* Most calls of ucp_fh_worker_progress() in a row without a look at the tables, while UCP
 * has something to do and no operation of the worker waits */
#define MAX_QUICK 16


static void flushed(ucp_fh_way_t *way)
{
    ucp_fh_way_flushed(ucs_derived_of(way, ucp_fh_peer_way_t)->worker->fh, way);
}

static ucs_status_t
make_way(ucp_fh_worker_h worker, uint32_t peer, ucp_fh_peer_way_t **way_p)
{
    ucp_fh_t *fh        = worker->fh;
    ucp_fh_link_t *link = &fh->links[peer];
    ucp_fh_peer_way_t *way;
    ucs_status_t status;
    ucp_ep_h ep;

    ucp_fh_lock(fh);
    status = (link->ep == NULL) ? UCS_ERR_NOT_CONNECTED : link->status;
    ucp_fh_unlock(fh);
    if (status != UCS_OK) {
        return status;
    }

    way = calloc(1, sizeof(*way));
    if (way == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    way->worker = worker;
    status      = ucp_fh_peer_ep(worker->worker, link->address, &link->peer_arg, &ep,
                                 &way->has_no_handler);
    if (status != UCS_OK) {
        free(way);
        return status;
    }

    ucp_fh_way_init(&way->super, &worker->ways, worker->worker, ep, worker->is_multi,
                    flushed);
    way->super.owns_ep = 1;
    ucp_fh_way_connect(fh, &way->super, peer, UCP_FH_MAX_LENT);
    *way_p = way;
    return UCS_OK;
}

ucp_fh_way_t *ucp_fh_worker_way(ucp_fh_worker_h worker, uint32_t peer,
                                ucs_status_t *status_p)
{
    ucp_fh_peer_way_t *way;

    *status_p = UCS_OK;
    if (ucs_unlikely(peer >= worker->fh->num_procs)) {
        *status_p = UCS_ERR_INVALID_PARAM;
        return NULL;
    }

    way = atomic_load_explicit(&worker->peers[peer], memory_order_acquire);
    if (ucs_likely(way != NULL)) {
        return &way->super;
    }

    ucs_mutex_lock(&worker->ways_lock);
    way = atomic_load_explicit(&worker->peers[peer], memory_order_acquire);
    if (way == NULL) {
        *status_p = make_way(worker, peer, &way);
        atomic_store_explicit(&worker->peers[peer], way, memory_order_release);
    }
    ucs_mutex_unlock(&worker->ways_lock);
    return (way == NULL) ? NULL : &way->super;
}

static ucs_status_t allocate(ucp_fh_h fh, ucp_fh_worker_h *worker_p)
{
    const ucp_request_param_t param = {.op_attr_mask = 0};
    ucp_fh_worker_h worker          = calloc(1, sizeof(*worker));

    if (worker == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    worker->peers = calloc(fh->num_procs, sizeof(*worker->peers));
    if (worker->peers == NULL) {
        goto err_free;
    }

    worker->last = ucp_fh_op_make(worker, &param);
    if (worker->last == NULL) {
        goto err_free_peers;
    }

    *worker_p = worker;
    return UCS_OK;

err_free_peers:
    free(worker->peers);
err_free:
    free(worker);
    return UCS_ERR_NO_MEMORY;
}

ucs_status_t ucp_fh_worker_create(ucp_fh_h fh, ucp_worker_h ucp_worker,
                                  ucp_fh_worker_h *worker_p)
{
    ucp_fh_worker_h worker;
    ucs_status_t status;

    if (ucp_worker == NULL) {
        ucs_error("firehose: no worker of UCP; accepted: one of the context that "
                  "ucp_fh_init() was given");
        return UCS_ERR_INVALID_PARAM;
    }

    status = allocate(fh, &worker);
    if (status != UCS_OK) {
        return status;
    }

    worker->fh       = fh;
    worker->worker   = ucp_worker;
    worker->is_multi = ucp_fh_is_multi(ucp_worker);
    ucs_mutex_init(&worker->ways_lock, UCS_RANK_FH_WAYS, 0);
    ucs_list_head_init(&worker->ways.list);
    ucs_list_head_init(&worker->unposted);
    ucs_list_head_init(&worker->ready);

    ucs_mutex_lock(&fh->workers_lock);
    ucs_list_add_tail(&fh->workers, &worker->link);
    ucs_mutex_unlock(&fh->workers_lock);
    *worker_p = worker;
    return UCS_OK;
}


/* Under lock. @return whether a flush of the worker is under way */
static int is_flushing(ucp_fh_worker_h worker)
{
    const ucp_fh_way_t *way;

    ucs_list_for_each(way, &worker->ways.list, dirty) {
        if (way->num_flushes > 0) {
            return 1;
        }
    }
    return worker->num_flushing > 0;
}

/* Under lock */
static int has_due(ucp_fh_worker_h worker)
{
    return ucp_fh_ways_find_due(worker->fh, &worker->ways, worker->worker) != NULL;
}

int ucp_fh_worker_is_busy(ucp_fh_worker_h worker)
{
    return worker->is_multi &&
           (!ucs_list_is_empty(&worker->unposted) || is_flushing(worker) ||
            has_due(worker));
}

/* Count a call of ucp_fh_worker_progress() in which UCP had something to do. @return
 * whether the look at the tables may be left to a later call: no operation of the worker
 * waits, and requests of other threads can wait for MAX_QUICK calls. Needs no lock: only
 * threads that may call UCP with the worker write ucp_fh_worker::unposted, one at a
 * time */
static int may_skip_tables(ucp_fh_worker_h worker)
{
    if (worker->is_multi) {
        return 0; /* Several threads may be here, and num_quick has no lock */
    }

    if ((worker->num_quick == MAX_QUICK) || !ucs_list_is_empty(&worker->unposted)) {
        worker->num_quick = 0;
        return 0;
    }

    ++worker->num_quick;
    return 1;
}

unsigned ucp_fh_worker_go_on(ucp_fh_worker_h worker, int *is_waiting_p)
{
    ucp_fh_t *fh   = worker->fh;
    unsigned count = ucp_worker_progress(worker->worker);
    int has_ready, is_due;

    if ((count > 0) && may_skip_tables(worker)) {
        *is_waiting_p = 0;
        return count;
    }

    ucp_fh_lock(fh);
    has_ready     = ucp_fh_op_can_resume(worker);
    is_due        = has_due(worker);
    *is_waiting_p = !ucs_list_is_empty(&worker->unposted) && !has_ready;
    ucp_fh_unlock(fh);

    if (has_ready) {
        ucp_fh_op_resume_all(worker);
    }
    if (is_due) {
        ucp_fh_ways_flush_due(fh, &worker->ways, worker->worker);
    }
    return count + has_ready + is_due;
}

unsigned ucp_fh_worker_progress(ucp_fh_worker_h worker)
{
    int is_waiting;
    unsigned count;

    count = ucp_fh_worker_go_on(worker, &is_waiting);
    if (is_waiting) {
        count += ucp_fh_drive_help(worker->fh);
    }
    return count;
}

/* Complete all operations of a worker by a last flush, and wait until the flushes that
 * the library has begun have ended as well */
static void complete(ucp_fh_worker_h worker)
{
    ucs_status_ptr_t request = ucp_fh_op_flush(worker->last);

    if (UCS_PTR_IS_PTR(request)) {
        while (ucp_fh_request_check_status(request) == UCS_INPROGRESS) {
            ucp_fh_worker_progress(worker);
        }
        ucp_fh_request_free(request);
    }

    ucp_fh_lock(worker->fh);
    while (is_flushing(worker)) {
        ucp_fh_unlock(worker->fh);
        ucp_fh_worker_progress(worker);
        ucp_fh_lock(worker->fh);
    }
    ucp_fh_unlock(worker->fh);
}

static void close_way(ucp_fh_worker_h worker, ucp_fh_peer_way_t *way)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
        .flags        = UCP_EP_CLOSE_FLAG_FORCE
    };
    ucp_fh_t *fh = worker->fh;
    ucs_status_ptr_t request;

    /* The endpoint may be closed by force, since the worker has been flushed; but UCP
     * closes an endpoint without an error handler only in agreement with the peer */
    if (way->has_no_handler) {
        param.op_attr_mask = 0;
    }

    /* Release pieces: the way still has some if UCP had no memory for the flush of the
     * worker */
    ucp_fh_lock(fh);
    ucp_fh_way_drop(fh, &way->super);
    ucp_fh_unlock(fh);
    ucp_fh_way_empty_trash(fh, &way->super);

    request = ucp_ep_close_nbx(way->super.ep, &param);
    if (UCS_PTR_IS_PTR(request)) {
        while (ucp_request_check_status(request) == UCS_INPROGRESS) {
            ucp_worker_progress(worker->worker);
        }
        ucp_request_free(request);
    }
    ucp_fh_way_put(&way->super);
}

void ucp_fh_worker_destroy(ucp_fh_worker_h worker)
{
    ucp_fh_t *fh = worker->fh;
    ucp_fh_peer_way_t *way;
    uint32_t i;

    complete(worker);

    /* From here on the library's thread does not progress the worker any more */
    ucs_mutex_lock(&fh->workers_lock);
    ucs_list_del(&worker->link);
    ucs_mutex_unlock(&fh->workers_lock);

    for (i = 0; i < fh->num_procs; ++i) {
        way = atomic_load(&worker->peers[i]);
        if (way != NULL) {
            close_way(worker, way);
        }
    }

    ucp_fh_settle(fh);
    ucs_mutex_destroy(&worker->ways_lock);
    free(worker->peers);
    free(worker);
}
