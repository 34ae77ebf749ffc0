/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "worker.h"
#include "op.h"

#include <ucp/firehose/core/outbox.h>
#include <ucp/firehose/core/settle.h>

#include <ucs/debug/log_def.h>

#include <stdlib.h>


static ucs_status_t check_peer(const ucp_fh_t *fh, uint32_t peer)
{
    return (peer >= fh->num_procs)       ? UCS_ERR_INVALID_PARAM :
           (fh->links[peer].ep == NULL)  ? UCS_ERR_NOT_CONNECTED :
                                           fh->links[peer].status;
}

/* How many firehoses a way remembers, of so many that its peer gives */
static unsigned get_num_held(uint32_t limit)
{
    unsigned num = 1;

    while ((num < limit) && (num < UCP_FH_HELD_MAX)) {
        num *= 2;
    }
    return num;
}

static ucs_status_t
make_way(ucp_fh_worker_h worker, uint32_t peer, ucp_fh_way_t **way_p)
{
    ucp_fh_t *fh = worker->fh;
    ucp_fh_way_t *way;
    ucs_status_t status;
    unsigned num_held;

    ucp_fh_lock(fh);
    status   = check_peer(fh, peer);
    num_held = get_num_held(fh->links[peer].limit);
    ucp_fh_unlock(fh);
    if (status != UCS_OK) {
        return status;
    }

    way = calloc(1, sizeof(*way) + (num_held * sizeof(way->held[0])));
    if (way == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    way->worker    = worker;
    way->epoch     = 1;
    way->num_held  = num_held;
    way->peer.fh   = fh;
    way->peer.slot = peer;
    ucs_list_head_init(&way->unflushed);
    ucs_list_head_init(&way->link);
    status = ucp_fh_peer_ep(worker->worker, fh->links[peer].address, &way->peer,
                            &way->ep, &way->has_no_handler);
    if (status != UCS_OK) {
        free(way);
        return status;
    }

    *way_p = way;
    return UCS_OK;
}

ucp_fh_way_t *ucp_fh_worker_way(ucp_fh_worker_h worker, uint32_t peer,
                                ucs_status_t *status_p)
{
    ucp_fh_way_t *way;

    *status_p = UCS_OK;
    if (ucs_likely(peer < worker->fh->num_procs)) {
        way = atomic_load_explicit(&worker->ways[peer], memory_order_acquire);
        if (ucs_likely(way != NULL)) {
            return way;
        }
    } else {
        *status_p = UCS_ERR_INVALID_PARAM;
        return NULL;
    }

    ucs_mutex_lock(&worker->ways_lock);
    way = atomic_load_explicit(&worker->ways[peer], memory_order_acquire);
    if (way == NULL) {
        *status_p = make_way(worker, peer, &way);
        atomic_store_explicit(&worker->ways[peer], way, memory_order_release);
    }
    ucs_mutex_unlock(&worker->ways_lock);
    return way;
}

ucs_status_t ucp_fh_worker_unpack(ucp_fh_way_t *way, ucp_fh_key_t *key,
                                  ucp_rkey_h *rkey_p)
{
    ucp_fh_t *fh            = way->worker->fh;
    ucp_fh_rkey_t *unpacked = malloc(sizeof(*unpacked));
    ucs_status_t status;

    if (unpacked == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    status = ucp_ep_rkey_unpack(way->ep, key->packed, &unpacked->rkey);
    if (status != UCS_OK) {
        free(unpacked);
        return status;
    }

    /* If two threads do so, both stay */
    *rkey_p         = unpacked->rkey;
    unpacked->trash = &way->worker->trash;
    ucp_fh_lock(fh);
    ucp_fh_key_add(key, unpacked);
    ucs_list_add_tail(&way->worker->rkeys, &unpacked->owned_link);
    ucp_fh_unlock(fh);
    return UCS_OK;
}

void ucp_fh_worker_empty_trash(ucp_fh_worker_h worker)
{
    ucp_fh_t *fh = worker->fh;
    ucp_fh_rkey_t *unpacked;

    for (;;) {
        unpacked = NULL;
        ucp_fh_lock(fh);
        if (!ucs_list_is_empty(&worker->trash)) {
            unpacked = ucs_list_extract_head(&worker->trash, ucp_fh_rkey_t,
                                             owned_link);
        }
        ucp_fh_unlock(fh);
        if (unpacked == NULL) {
            return;
        }

        ucp_rkey_destroy(unpacked->rkey);
        free(unpacked);
    }
}

void ucp_fh_piece_release(ucp_fh_piece_t *piece)
{
    ucp_fh_t *fh = piece->way->worker->fh;

    ucp_fh_remote_release(&fh->remote, &piece->request);
    if (ucs_unlikely(ucp_fh_is_unsettled(fh))) {
        ucp_fh_wake(fh);
    }
    free(piece);
}

static int is_multi(ucp_worker_h worker)
{
    ucp_worker_attr_t attr = {.field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE};

    return (ucp_worker_query(worker, &attr) == UCS_OK) &&
           (attr.thread_mode == UCS_THREAD_MODE_MULTI);
}

static ucs_status_t allocate(ucp_fh_h fh, ucp_fh_worker_h *worker_p)
{
    const ucp_request_param_t param = {.op_attr_mask = 0};
    ucp_fh_worker_h worker          = calloc(1, sizeof(*worker));

    if (worker == NULL) {
        goto err;
    }

    worker->ways = calloc(fh->num_procs, sizeof(*worker->ways));
    if (worker->ways == NULL) {
        goto err_free;
    }

    worker->last = ucp_fh_op_make(worker, UCP_FH_OP_FLUSH, &param);
    if (worker->last == NULL) {
        goto err_free_ways;
    }

    *worker_p = worker;
    return UCS_OK;

err_free_ways:
    free(worker->ways);
err_free:
    free(worker);
err:
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
    worker->is_multi = is_multi(ucp_worker);
    ucs_mutex_init(&worker->ways_lock, UCS_RANK_FH_WAYS, 0);
    ucs_list_head_init(&worker->unposted);
    ucs_list_head_init(&worker->ready);
    ucs_list_head_init(&worker->flushes);
    ucs_list_head_init(&worker->dirty);
    ucs_list_head_init(&worker->rkeys);
    ucs_list_head_init(&worker->trash);

    ucs_mutex_lock(&fh->workers_lock);
    ucs_list_add_tail(&fh->workers, &worker->link);
    ucs_mutex_unlock(&fh->workers_lock);
    *worker_p = worker;
    return UCS_OK;
}
