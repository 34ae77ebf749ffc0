/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "flush.h"

#include <stdlib.h>


/* A flush under way */
typedef struct {
    ucp_fh_worker_h worker;
    ucp_fh_way_t    *way;   /* NULL: of all */
    ucs_list_link_t pieces; /* To be released afterwards */
    void            (*done)(void *arg, ucs_status_t status);
    void            *arg;
} flush_t;


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

static flush_t *make_flush(ucp_fh_worker_h worker, ucp_fh_way_t *way)
{
    flush_t *flush = calloc(1, sizeof(*flush));

    if (flush != NULL) {
        flush->worker = worker;
        flush->way    = way;
        ucs_list_head_init(&flush->pieces);
    }
    return flush;
}

/* Under lock: what was written on a way so far is covered by a flush that
 * begins now */
static void take_pieces(flush_t *flush, ucp_fh_way_t *way)
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

static void finish(flush_t *flush, ucs_status_t status)
{
    ucp_fh_t *fh = flush->worker->fh;

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

    if (flush->done != NULL) {
        flush->done(flush->arg, status);
    }
    free(flush);
}

static void finished(void *request, ucs_status_t status, void *user_data)
{
    ucp_request_free(request);
    finish(user_data, status);
}

static ucp_request_param_t get_param(flush_t *flush)
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
    flush_t *flush            = make_flush(way->worker, way);
    ucp_request_param_t param = get_param(flush);
    ucs_status_ptr_t request;

    if (flush == NULL) {
        return; /* It is due again later */
    }

    ucp_fh_lock(fh);
    if (way->is_flushing || (way->num_unflushed == 0)) {
        ucp_fh_unlock(fh);
        free(flush);
        return;
    }

    take_pieces(flush, way);
    way->is_flushing = 1;
    ++way->worker->num_flushing;
    ucp_fh_unlock(fh);

    request = ucp_ep_flush_nbx(way->ep, &param);
    if (!UCS_PTR_IS_PTR(request)) {
        finish(flush, UCS_PTR_STATUS(request));
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
    ucp_fh_way_t *way, *last = NULL;

    for (;;) {
        ucp_fh_lock(worker->fh);
        way = find_due(worker);
        ucp_fh_unlock(worker->fh);
        if ((way == NULL) || (way == last)) {
            return;
        }

        ucp_fh_flush_way(way);
        last = way; /* There was no memory if it is due again */
    }
}

void ucp_fh_flush_all(ucp_fh_worker_h worker,
                      void (*done)(void *arg, ucs_status_t status), void *arg)
{
    ucp_fh_t *fh              = worker->fh;
    flush_t *flush            = make_flush(worker, NULL);
    ucp_request_param_t param = get_param(flush);
    ucs_status_ptr_t request;

    if (flush == NULL) {
        done(arg, UCS_ERR_NO_MEMORY);
        return;
    }

    flush->done = done;
    flush->arg  = arg;
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
