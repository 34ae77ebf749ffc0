/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "flush.h"


void ucp_fh_flush_later(ucp_fh_piece_t *piece)
{
    ucp_fh_way_t *way = piece->way;

    ucs_list_add_tail(&way->unflushed, &piece->link);
    if (way->num_unflushed++ == 0) {
        ucs_list_add_tail(&way->worker->dirty, &way->link);
    }
}

static const ucp_fh_peer_t *get_peer(const ucp_fh_way_t *way)
{
    return &way->worker->fh->remote.peers[way->peer.slot];
}

int ucp_fh_flush_is_due(const ucp_fh_way_t *way)
{
    const ucp_fh_peer_t *peer = get_peer(way);

    return !way->is_flushing && (way->num_unflushed > 0) &&
           (ucp_fh_peer_is_wanted(peer) ||
            ucp_fh_peer_has_lent_much(peer, way->num_unflushed,
                                      way->num_missed));
}

static void init(ucp_fh_flush_t *flush, ucp_fh_worker_h worker,
                 ucp_fh_way_t *way,
                 void (*done)(void *arg, ucs_status_t status), void *arg)
{
    flush->worker = worker;
    flush->way    = way;
    flush->done   = done;
    flush->arg    = arg;
    ucs_list_head_init(&flush->pieces);
}

/* Under lock: what was written on a way so far is covered by a flush that
 * begins now */
static void take_pieces(ucp_fh_flush_t *flush, ucp_fh_way_t *way)
{
    ucs_list_splice_tail(&flush->pieces, &way->unflushed);
    ucs_list_head_init(&way->unflushed);
    way->num_unflushed = 0;
    way->num_missed    = get_peer(way)->num_missed;
    ++way->epoch;
    ucp_fh_worker_count(way->worker);
    ucs_list_del(&way->link);
    ucs_list_head_init(&way->link);
}

/* The flush may be gone, or begun anew, once it is told of */
static void finish(ucp_fh_flush_t *flush, ucs_status_t status)
{
    ucp_fh_t *fh = flush->worker->fh;
    void *arg    = flush->arg;
    void (*done)(void *arg, ucs_status_t status) = flush->done;

    /* If it failed, the peer is gone, and its memory with it */
    ucp_fh_lock(fh);
    while (!ucs_list_is_empty(&flush->pieces)) {
        ucp_fh_piece_release(ucs_list_extract_head(&flush->pieces,
                                                   ucp_fh_piece_t, link));
    }
    --flush->worker->num_flushing;
    if (flush->way != NULL) {
        flush->way->is_flushing = 0;
    }
    ucp_fh_unlock(fh);

    if (done != NULL) {
        done(arg, status);
    }
}

static void finished(void *request, ucs_status_t status, void *user_data)
{
    ucp_request_free(request);
    finish(user_data, status);
}

static ucp_request_param_t get_param(ucp_fh_flush_t *flush)
{
    return (ucp_request_param_t){
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send      = finished,
        .user_data    = flush
    };
}

void ucp_fh_flush_way(ucp_fh_way_t *way)
{
    ucp_fh_t *fh              = way->worker->fh;
    ucp_request_param_t param = get_param(&way->flush);
    ucs_status_ptr_t request;

    ucp_fh_lock(fh);
    if (way->is_flushing || (way->num_unflushed == 0)) {
        ucp_fh_unlock(fh);
        return;
    }

    init(&way->flush, way->worker, way, NULL, NULL);
    take_pieces(&way->flush, way);
    way->is_flushing = 1;
    ++way->worker->num_flushing;
    ucp_fh_unlock(fh);

    request = ucp_ep_flush_nbx(way->ep, &param);
    if (!UCS_PTR_IS_PTR(request)) {
        finish(&way->flush, UCS_PTR_STATUS(request));
    }
}

/* @return a way that is due, or NULL */
static ucp_fh_way_t *find_due(ucp_fh_worker_h worker)
{
    ucp_fh_way_t *way;

    ucs_list_for_each(way, &worker->dirty, link) {
        if (ucp_fh_flush_is_due(way)) {
            return way;
        }
    }

    return NULL;
}

void ucp_fh_flush_due(ucp_fh_worker_h worker)
{
    ucp_fh_way_t *way;

    for (;;) {
        ucp_fh_lock(worker->fh);
        way = find_due(worker);
        ucp_fh_unlock(worker->fh);
        if (way == NULL) {
            return;
        }

        ucp_fh_flush_way(way);
    }
}

void ucp_fh_flush_all(ucp_fh_worker_h worker, ucp_fh_flush_t *flush,
                      void (*done)(void *arg, ucs_status_t status), void *arg)
{
    ucp_fh_t *fh              = worker->fh;
    ucp_request_param_t param = get_param(flush);
    ucs_status_ptr_t request;

    init(flush, worker, NULL, done, arg);
    ucp_fh_lock(fh);
    while (!ucs_list_is_empty(&worker->dirty)) {
        take_pieces(flush, ucs_list_head(&worker->dirty, ucp_fh_way_t, link));
    }
    ++worker->num_flushing;
    ucp_fh_unlock(fh);

    request = ucp_worker_flush_nbx(worker->worker, &param);
    if (!UCS_PTR_IS_PTR(request)) {
        finish(flush, UCS_PTR_STATUS(request));
    }
}
