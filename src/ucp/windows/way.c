/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "way.h"

#include <ucp/firehose/wire/key.h>

#include <ucs/debug/log_def.h>

#include <stdlib.h>


/* @return the thread mode of a worker, or MULTI, which assumes least, if UCP does not
 * tell */
static ucs_thread_mode_t get_thread_mode(ucp_worker_h worker)
{
    ucp_worker_attr_t attr = {.field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE};

    return (ucp_worker_query(worker, &attr) == UCS_OK) ?
                   attr.thread_mode : UCS_THREAD_MODE_MULTI;
}

static void set_threaded(void)
{
    atomic_store_explicit(&ucp_win.is_threaded, 1, memory_order_relaxed);
}

ucs_status_t ucp_win_context_add(ucp_context_h context, int is_shared)
{
    ucs_status_t status = UCS_OK;
    unsigned num_before;

    num_before = atomic_fetch_add_explicit(&ucp_win.num_contexts, 1,
                                           memory_order_relaxed);
    if (is_shared || (num_before > 0)) {
        set_threaded();
    }
    if (is_shared) {
        status = ucs_map_put(&ucp_win.shared, context, context);
    }
    return (status == UCS_OK) ?
                   ucs_map_put(&ucp_win.contexts, context, context) : status;
}

int ucp_win_context_remove(ucp_context_h context)
{
    (void)ucs_map_take(&ucp_win.shared, context);
    return ucs_map_take(&ucp_win.contexts, context) != NULL;
}

/* @return NULL: there is no memory */
static ucp_win_worker_t *
make_worker(ucp_context_h context, ucp_worker_h worker, int is_multi)
{
    ucp_win_worker_t *made = calloc(1, sizeof(*made));

    if (made != NULL) {
        made->worker    = worker;
        made->context   = context;
        made->is_multi  = is_multi;
        made->is_shared = (ucs_map_find(&ucp_win.shared, context) != NULL);
    }
    return made;
}

/* Note a worker that others than its caller may help. Without memory for it nobody does;
 * but that there is one of mode MULTI tells who may use the others */
static void add(ucp_context_h context, ucp_worker_h worker)
{
    int is_multi            = (get_thread_mode(worker) == UCS_THREAD_MODE_MULTI);
    ucp_win_worker_t *added = make_worker(context, worker, is_multi);

    if (is_multi) {
        set_threaded();
    }
    ucs_mutex_lock(&ucp_win.lock);
    if (added != NULL) {
        ucs_list_add_tail(&ucp_win.workers, &added->link);
    } else if (is_multi) {
        ucp_win.hides_multi = 1;
    }
    ucs_mutex_unlock(&ucp_win.lock);
}

/* Under win.lock. @return a worker, or NULL */
static ucp_win_worker_t *find_worker(ucp_worker_h worker)
{
    ucp_win_worker_t *found;

    ucs_list_for_each(found, &ucp_win.workers, link) {
        if (found->worker == worker) {
            return found;
        }
    }

    return NULL;
}

void ucp_win_worker_add(ucp_context_h context, ucp_worker_h worker)
{
    if (ucs_map_find(&ucp_win.contexts, context) == NULL) {
        return;
    }

    if (ucs_map_put(&ucp_win.contexts, worker, context) != UCS_OK) {
        ucs_warn("windows: no memory to note a worker");
    }

    add(context, worker);
}

void ucp_win_worker_remove(ucp_worker_h worker)
{
    ucp_win_worker_t *removed;

    (void)ucs_map_take(&ucp_win.contexts, worker);
    ucs_mutex_lock(&ucp_win.lock);
    removed = find_worker(worker);
    if (removed != NULL) {
        ucs_list_del(&removed->link);
        while (removed->num_users > 0) {
            ucs_mutex_wait(&ucp_win.lock, &ucp_win.unused);
        }
    }
    ucs_mutex_unlock(&ucp_win.lock);
    free(removed);
}

/* Under win.lock. @return whether all threads of the program call UCP for a context one
 * at a time */
static int is_serial(ucp_context_h context)
{
    const ucp_win_worker_t *worker;

    if (ucp_win.hides_multi) {
        return 0;
    }

    ucs_list_for_each(worker, &ucp_win.workers, link) {
        if ((worker->context == context) &&
            (worker->is_shared || worker->is_multi)) {
            return 0;
        }
    }

    return 1;
}

ucp_win_worker_t *ucp_win_worker_get(ucp_context_h context, unsigned number)
{
    ucp_win_worker_t *found = NULL;
    int is_alone            = 0;
    ucp_win_worker_t *worker;

    ucs_mutex_lock(&ucp_win.lock);
    is_alone = is_serial(context);
    ucs_list_for_each(worker, &ucp_win.workers, link) {
        if ((worker->is_multi || (is_alone && (worker->context == context))) &&
            (number-- == 0)) {
            found = worker;
            ++found->num_users;
            break;
        }
    }
    ucs_mutex_unlock(&ucp_win.lock);
    return found;
}

void ucp_win_worker_put(ucp_win_worker_t *worker)
{
    ucs_mutex_lock(&ucp_win.lock);
    if (--worker->num_users == 0) {
        pthread_cond_broadcast(&ucp_win.unused);
    }
    ucs_mutex_unlock(&ucp_win.lock);
}

int ucp_win_worker_is_served(ucp_worker_h worker)
{
    /* The latter was written before Firehose was made known, which the caller has
     * seen, and does not change any more */
    return ucs_map_find(&ucp_win.contexts, worker) == ucp_win.mem_context;
}


static ucp_win_way_t *
make(ucp_context_h context, ucp_worker_h worker, ucp_ep_h ep)
{
    ucp_win_way_t *way = calloc(1, sizeof(*way));

    if (way == NULL) {
        return NULL;
    }

    atomic_init(&way->refs, 1);
    way->context  = context;
    way->worker   = worker;
    way->is_multi = (get_thread_mode(worker) == UCS_THREAD_MODE_MULTI);
    way->ep       = ep;
    ucs_list_head_init(&way->unflushed);
    ucs_list_head_init(&way->flushing);
    ucs_list_head_init(&way->dirty);
    ucs_list_head_init(&way->rkeys);
    ucs_list_head_init(&way->trash);
    return way;
}

void ucp_win_way_add(ucp_worker_h worker, ucp_ep_h ep)
{
    ucp_context_h context = ucs_map_find(&ucp_win.contexts, worker);
    ucp_win_way_t *way;

    if (context == NULL) {
        return;
    }

    way = make(context, worker, ep);
    if ((way == NULL) || (ucs_map_put(&ucp_win.ways, ep, way) != UCS_OK)) {
        free(way);
        ucs_warn("windows: no memory to note an endpoint");
        return;
    }

    ucs_mutex_lock(&ucp_win.lock);
    ucs_list_add_tail(&ucp_win.open_ways, &way->link);
    ucs_mutex_unlock(&ucp_win.lock);
}

ucp_win_way_t *ucp_win_way_get(ucp_ep_h ep)
{
    ucp_win_way_t *way = ucp_win_way_find(ep);

    if (way != NULL) {
        ucp_win_way_ref(way);
    }
    return way;
}

void ucp_win_way_put(ucp_win_way_t *way)
{
    if (atomic_fetch_sub_explicit(&way->refs, 1, memory_order_acq_rel) == 1) {
        free(way->slots);
        free(way);
    }
}


int ucp_win_way_closes(const ucp_win_way_t *way)
{
    ucp_fh_t *fh = ucp_win_fh();
    int ret;

    ucp_win_lock(fh);
    ret = way->is_closing;
    ucp_win_unlock(fh);
    return ret;
}

void ucp_win_way_add_closing(ucp_win_way_t *way)
{
    ucs_mutex_lock(&ucp_win.lock);
    ucs_list_del(&way->link);
    ucs_list_add_tail(&ucp_win.closing_ways, &way->link);
    atomic_fetch_add_explicit(&ucp_win.num_closing, 1, memory_order_relaxed);
    ucs_mutex_unlock(&ucp_win.lock);
}

/* Under win.lock. @return the first way of a worker in a list, or NULL */
static ucp_win_way_t *
find_of(const ucs_list_link_t *ways, ucp_worker_h worker)
{
    ucp_win_way_t *way;

    ucs_list_for_each(way, ways, link) {
        if (way->worker == worker) {
            return way;
        }
    }

    return NULL;
}

ucp_win_way_t *ucp_win_way_open_of(ucp_worker_h worker)
{
    ucp_win_way_t *way;

    ucs_mutex_lock(&ucp_win.lock);
    way = find_of(&ucp_win.open_ways, worker);
    ucs_mutex_unlock(&ucp_win.lock);
    return way;
}

static ucp_win_way_t *get_from(const ucs_list_link_t *ways, ucp_worker_h worker,
                               ucp_win_way_is_t is)
{
    ucp_fh_t *fh         = ucp_win_fh();
    ucp_win_way_t *found = NULL;
    ucp_win_way_t *way;

    ucs_mutex_lock(&ucp_win.lock);
    ucp_win_lock(fh);
    ucs_list_for_each(way, ways, link) {
        if ((way->worker == worker) && is(way)) {
            ucp_win_way_ref(way);
            found = way;
            break;
        }
    }
    ucp_win_unlock(fh);
    ucs_mutex_unlock(&ucp_win.lock);
    return found;
}

ucp_win_way_t *ucp_win_way_get_open(ucp_worker_h worker, ucp_win_way_is_t is)
{
    return get_from(&ucp_win.open_ways, worker, is);
}

ucp_win_way_t *ucp_win_way_get_closing(ucp_worker_h worker, ucp_win_way_is_t is)
{
    return get_from(&ucp_win.closing_ways, worker, is);
}

/* Under win.lock and ucp_win_lock(). @return whether nobody waits for a flush of a closing
 * way any more */
static int is_complete(const ucp_win_way_t *way)
{
    return way->is_abandoned || ((way->num_flushes == 0) && !way->needs_flush);
}

/* Under ucp_fh::lock. Keys of firehoses that are still there lead nowhere any more,
 * either. Once Firehose has ended, there are none */
static void discard_rkeys(ucp_win_way_t *way)
{
    ucp_fh_rkey_t *unpacked;

    while (!ucs_list_is_empty(&way->rkeys)) {
        unpacked = ucs_list_extract_head(&way->rkeys, ucp_fh_rkey_t,
                                         owned_link);
        ucs_list_del(&unpacked->link);
        ucs_list_add_tail(&way->trash, &unpacked->owned_link);
    }
}

void ucp_win_way_take_complete(ucp_worker_h worker, ucs_list_link_t *ways)
{
    ucp_fh_t *fh = ucp_win_fh();
    ucp_win_way_t *way, *next;

    ucs_mutex_lock(&ucp_win.lock);
    ucp_win_lock(fh);
    ucs_list_for_each_safe(way, next, &ucp_win.closing_ways, link) {
        if ((way->worker == worker) && is_complete(way)) {
            ucs_list_del(&way->link);
            ucs_list_add_tail(ways, &way->link);
            discard_rkeys(way);
            atomic_fetch_sub_explicit(&ucp_win.num_closing, 1,
                                      memory_order_relaxed);
        }
    }
    ucp_win_unlock(fh);
    ucs_mutex_unlock(&ucp_win.lock);
}

void ucp_win_ways_discard_rkeys(void)
{
    ucp_win_way_t *way;

    ucs_list_for_each(way, &ucp_win.open_ways, link) {
        discard_rkeys(way);
    }
    ucs_list_for_each(way, &ucp_win.closing_ways, link) {
        discard_rkeys(way);
    }
}

void ucp_win_way_empty_trash(ucp_win_way_t *way)
{
    ucp_fh_t *fh = ucp_win_fh();
    ucp_fh_rkey_t *unpacked;

    for (;;) {
        unpacked = NULL;
        ucp_win_lock(fh);
        if (!ucs_list_is_empty(&way->trash)) {
            unpacked = ucs_list_extract_head(&way->trash, ucp_fh_rkey_t,
                                             owned_link);
        }
        ucp_win_unlock(fh);
        if (unpacked == NULL) {
            return;
        }

        ucp_rkey_destroy(unpacked->rkey);
        free(unpacked);
    }
}

void ucp_win_way_end(ucp_win_way_t *way)
{
    ucp_win_way_empty_trash(way);
    ucp_win_way_put(way);
}
