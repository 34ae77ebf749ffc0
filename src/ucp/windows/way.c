/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "way.h"

#include <ucp/firehose/wire/key.h>

#include <ucs/debug/log_def.h>

#include <stdlib.h>


static int is_for_one_thread(ucp_worker_h worker)
{
    ucp_worker_attr_t attr = {.field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE};

    return (ucp_worker_query(worker, &attr) == UCS_OK) &&
           (attr.thread_mode == UCS_THREAD_MODE_SINGLE);
}

static void set_threaded(void)
{
    atomic_store_explicit(&ucp_win.is_threaded, 1, memory_order_relaxed);
}

/* Note a worker that this thread may always use, see ucp_win_worker_own() */
static void add_own(ucp_worker_h worker)
{
    ucp_win_worker_t *own = malloc(sizeof(*own));
    ucp_win_worker_t *first;

    if (own == NULL) {
        return; /* It only helps */
    }

    own->worker = worker;
    own->thread = pthread_self();
    pthread_mutex_lock(&ucp_win.lock);
    ucs_list_add_tail(&ucp_win.workers, &own->link);
    first = ucs_list_head(&ucp_win.workers, ucp_win_worker_t, link);
    if (!pthread_equal(first->thread, own->thread)) {
        set_threaded();
    }
    pthread_mutex_unlock(&ucp_win.lock);
}

static void remove_own(ucp_worker_h worker)
{
    ucp_win_worker_t *own, *next;

    pthread_mutex_lock(&ucp_win.lock);
    ucs_list_for_each_safe(own, next, &ucp_win.workers, link) {
        if (own->worker == worker) {
            ucs_list_del(&own->link);
            free(own);
        }
    }
    pthread_mutex_unlock(&ucp_win.lock);
}

void ucp_win_worker_add(ucp_context_h context, ucp_worker_h worker)
{
    if (ucp_win_map_find(&ucp_win.contexts, context) == NULL) {
        return;
    }

    if (ucp_win_map_put(&ucp_win.contexts, worker, context) != UCS_OK) {
        ucs_warn("windows: no memory to note a worker");
        return;
    }

    if (is_for_one_thread(worker)) {
        add_own(worker);
    } else {
        set_threaded();
    }
}

void ucp_win_worker_remove(ucp_worker_h worker)
{
    (void)ucp_win_map_take(&ucp_win.contexts, worker);
    remove_own(worker);
}

ucp_worker_h ucp_win_worker_own(unsigned number)
{
    ucp_worker_h worker = NULL;
    ucp_win_worker_t *own;

    pthread_mutex_lock(&ucp_win.lock);
    ucs_list_for_each(own, &ucp_win.workers, link) {
        if (pthread_equal(own->thread, pthread_self()) && (number-- == 0)) {
            worker = own->worker;
            break;
        }
    }
    pthread_mutex_unlock(&ucp_win.lock);
    return worker;
}

int ucp_win_worker_is_served(ucp_worker_h worker)
{
    /* The latter was written before Firehose was made known, which the caller has
     * seen, and does not change any more */
    return ucp_win_map_find(&ucp_win.contexts, worker) == ucp_win.mem_context;
}


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


void ucp_win_way_end(ucp_win_way_t *way)
{
    pthread_mutex_lock(&ucp_win.lock);
    way->is_closed = 1;
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
