/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "way.h"
#include "flush.h"
#include "worker.h"

#include <ucp/firehose/wire/key.h>

#include <ucs/debug/log_def.h>

#include <stdlib.h>


void ucp_win_way_add(ucp_worker_h worker, ucp_ep_h ep)
{
    ucp_context_h context = ucp_win_map_find(&ucp_win.contexts, worker);
    ucp_win_way_t *way;

    if (context == NULL) {
        return;
    }

    way = calloc(1, sizeof(*way));
    if ((way == NULL) || (ucp_win_map_put(&ucp_win.ways, ep, way) != UCS_OK)) {
        free(way);
        ucs_warn("windows: no memory to note an endpoint");
        return;
    }

    way->context = context;
    way->worker  = worker;
    way->ep      = ep;
    ucs_list_head_init(&way->unflushed);
    ucs_list_head_init(&way->flushing);
    ucs_list_head_init(&way->dirty);
    ucs_list_head_init(&way->rkeys);
    ucs_list_head_init(&way->trash);
    pthread_mutex_lock(&ucp_win.lock);
    ucs_list_add_tail(&ucp_win.all_ways, &way->link);
    pthread_mutex_unlock(&ucp_win.lock);
}

ucp_win_way_t *ucp_win_way_get(ucp_ep_h ep)
{
    ucp_win_way_t *way = ucp_win_way_find(ep);

    if (way != NULL) {
        pthread_mutex_lock(&ucp_win.lock);
        ++way->refs;
        pthread_mutex_unlock(&ucp_win.lock);
    }
    return way;
}

/* Under win.lock */
static void free_if_unused(ucp_win_way_t *way)
{
    if (way->is_closed && (way->refs == 0)) {
        ucs_list_del(&way->link);
        free(way);
    }
}

void ucp_win_way_put(ucp_win_way_t *way)
{
    pthread_mutex_lock(&ucp_win.lock);
    --way->refs;
    free_if_unused(way);
    pthread_mutex_unlock(&ucp_win.lock);
}


void ucp_win_way_empty_trash(ucp_win_way_t *way)
{
    ucp_fh_t *fh = ucp_win_fh();
    ucp_fh_rkey_t *unpacked;

    for (;;) {
        unpacked = NULL;
        ucp_fh_lock(fh);
        if (!ucs_list_is_empty(&way->trash)) {
            unpacked = ucs_list_extract_head(&way->trash, ucp_fh_rkey_t,
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

/* Destroy all keys of a way, those of firehoses that are still there as well */
static void destroy_rkeys(ucp_fh_t *fh, ucp_win_way_t *way)
{
    ucp_fh_rkey_t *unpacked;

    ucp_fh_lock(fh);
    while (!ucs_list_is_empty(&way->rkeys)) {
        unpacked = ucs_list_extract_head(&way->rkeys, ucp_fh_rkey_t,
                                         owned_link);
        ucs_list_del(&unpacked->link);
        ucs_list_add_tail(&way->trash, &unpacked->owned_link);
    }
    ucp_fh_unlock(fh);
    ucp_win_way_empty_trash(way);
}

static void close_way(ucp_win_way_t *way)
{
    ucp_fh_t *fh = ucp_win_fh();

    if (fh != NULL) {
        ucp_win_way_complete(way);
        ucp_win_pieces_close(fh, way);
        destroy_rkeys(fh, way);
    }

    pthread_mutex_lock(&ucp_win.lock);
    way->is_closed = 1;
    free_if_unused(way);
    pthread_mutex_unlock(&ucp_win.lock);
}

void ucp_win_way_close(ucp_ep_h ep)
{
    ucp_win_way_t *way = ucp_win_map_take(&ucp_win.ways, ep);

    if (way != NULL) {
        close_way(way);
    }
}

/* @return an endpoint of a worker that is not closed, or NULL */
static ucp_ep_h find_open(ucp_worker_h worker)
{
    ucp_ep_h ep = NULL;
    ucp_win_way_t *way;

    pthread_mutex_lock(&ucp_win.lock);
    ucs_list_for_each(way, &ucp_win.all_ways, link) {
        if ((way->worker == worker) && !way->is_closed) {
            ep = way->ep;
            break;
        }
    }
    pthread_mutex_unlock(&ucp_win.lock);
    return ep;
}

void ucp_win_way_close_worker(ucp_worker_h worker)
{
    ucp_ep_h ep;

    while ((ep = find_open(worker)) != NULL) {
        ucp_win_way_close(ep);
    }
    ucp_win_worker_remove(worker);
}
