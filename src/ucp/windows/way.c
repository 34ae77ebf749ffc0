/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "way.h"

#include <ucp/firehose/core/drive.h>
#include <ucp/firehose/core/outbox.h>
#include <ucp/firehose/core/settle.h>
#include <ucp/firehose/wire/key.h>

#include <ucs/debug/log_def.h>

#include <stdlib.h>

/* A worker's ways are looked at with one of so many of its progress calls */
#define LOOK_EVERY 16

/* A flush of the library begins when so many pieces are not flushed, and the
 * way may have no more firehoses for some of them */
#define MIN_UNFLUSHED 64


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

/* Note a worker that this thread may always use, see ucp_win_ways_help() */
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

void ucp_win_way_add_worker(ucp_context_h context, ucp_worker_h worker)
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


/* Under ucp_fh::lock */
static void release(ucp_fh_t *fh, ucp_win_piece_t *piece)
{
    ucp_fh_remote_release(&fh->remote, &piece->request);
    free(piece);
}

void ucp_win_pieces_release(ucs_list_link_t *pieces)
{
    ucp_fh_t *fh = ucp_win_fh();
    int is_unsettled;

    if ((fh == NULL) || ucs_list_is_empty(pieces)) {
        return;
    }

    ucp_fh_lock(fh);
    while (!ucs_list_is_empty(pieces)) {
        release(fh, ucs_list_extract_head(pieces, ucp_win_piece_t, link));
    }
    is_unsettled = ucp_fh_is_unsettled(fh);
    ucp_fh_unlock(fh);

    /* Not here, which may be in a callback of UCP */
    if (is_unsettled) {
        ucp_fh_wake(fh);
    }
}

/* Under ucp_fh::lock. The way is in the list of dirty ones if it has pieces */
static void update_dirty(ucp_win_way_t *way)
{
    int was_dirty = !ucs_list_is_empty(&way->dirty);
    int is_dirty  = !ucs_list_is_empty(&way->unflushed) ||
                    !ucs_list_is_empty(&way->flushing);

    if (is_dirty && !was_dirty) {
        ucs_list_add_tail(&ucp_win.dirty, &way->dirty);
        atomic_fetch_add_explicit(&ucp_win.num_dirty, 1, memory_order_relaxed);
    } else if (was_dirty && !is_dirty) {
        ucs_list_del(&way->dirty);
        ucs_list_head_init(&way->dirty);
        atomic_fetch_sub_explicit(&ucp_win.num_dirty, 1, memory_order_relaxed);
    }
}

void ucp_win_pieces_keep(ucp_win_way_t *way, ucs_list_link_t *pieces)
{
    ucp_fh_t *fh = ucp_win_fh();

    if (ucs_list_is_empty(pieces)) {
        return;
    }

    ucp_fh_lock(fh);
    while (!ucs_list_is_empty(pieces)) {
        ucs_list_add_tail(&way->unflushed,
                          &ucs_list_extract_head(pieces, ucp_win_piece_t,
                                                 link)->link);
        ++way->num_unflushed;
    }
    update_dirty(way);
    ucp_fh_unlock(fh);
    ucp_win_way_flush_if_due(way);
}

static int is_of(const ucp_win_way_t *way, ucp_worker_h worker, ucp_ep_h ep)
{
    return (ep != NULL) ? (way->ep == ep) : (way->worker == worker);
}

/* Under ucp_fh::lock */
static void take(ucp_win_way_t *way, ucs_list_link_t *pieces)
{
    ucs_list_splice_tail(pieces, &way->unflushed);
    ucs_list_head_init(&way->unflushed);
    ucs_list_splice_tail(pieces, &way->flushing);
    ucs_list_head_init(&way->flushing);
    way->num_unflushed = 0;
    update_dirty(way);
}

int ucp_win_pieces_take(ucp_worker_h worker, ucp_ep_h ep,
                        ucs_list_link_t *pieces)
{
    ucp_fh_t *fh = ucp_win_fh();
    ucp_win_way_t *way, *next;

    ucs_list_head_init(pieces);
    if (fh == NULL) {
        return 0;
    }

    ucp_fh_lock(fh);
    ucs_list_for_each_safe(way, next, &ucp_win.dirty, dirty) {
        if (is_of(way, worker, ep)) {
            take(way, pieces);
        }
    }
    ucp_fh_unlock(fh);
    return !ucs_list_is_empty(pieces);
}

void ucp_win_pieces_give_back(ucs_list_link_t *pieces)
{
    ucp_win_piece_t *piece;
    ucs_list_link_t one;

    while (!ucs_list_is_empty(pieces)) {
        piece = ucs_list_extract_head(pieces, ucp_win_piece_t, link);
        ucs_list_head_init(&one);
        ucs_list_add_tail(&one, &piece->link);
        ucp_win_pieces_keep(piece->way, &one);
    }
}

static int has_dirty(ucp_worker_h worker, ucp_ep_h ep)
{
    ucp_win_way_t *way;

    ucs_list_for_each(way, &ucp_win.dirty, dirty) {
        if (is_of(way, worker, ep)) {
            return 1;
        }
    }

    return 0;
}

int ucp_win_pieces_exist(ucp_worker_h worker, ucp_ep_h ep)
{
    ucp_fh_t *fh = ucp_win_fh();
    int ret;

    if ((fh == NULL) || (atomic_load_explicit(&ucp_win.num_dirty,
                                              memory_order_relaxed) == 0)) {
        return 0;
    }

    ucp_fh_lock(fh);
    ret = has_dirty(worker, ep);
    ucp_fh_unlock(fh);
    return ret;
}


/* The flush of a way has ended. If it failed, the peer is gone, and its memory
 * with it */
static void finish_flush(ucp_win_way_t *way)
{
    ucp_fh_t *fh = ucp_win_fh();
    ucs_list_link_t pieces;

    ucs_list_head_init(&pieces);
    ucp_fh_lock(fh);
    ucs_list_splice_tail(&pieces, &way->flushing);
    ucs_list_head_init(&way->flushing);
    way->is_flushing = 0;
    update_dirty(way);
    ucp_fh_unlock(fh);
    ucp_win_pieces_release(&pieces);
}

static void flushed(void *request, ucs_status_t status, void *user_data)
{
    ucp_request_free(request);
    finish_flush(user_data);
}

/* Under ucp_fh::lock. @return the peer of a way with pieces that are not
 * flushed */
static const ucp_fh_peer_t *get_peer(const ucp_win_way_t *way)
{
    return ucs_list_head((ucs_list_link_t*)&way->unflushed, ucp_win_piece_t,
                         link)->request.peer;
}

/* Under ucp_fh::lock. @return how many pieces the library leaves unflushed. Half of
 * the firehoses are left to operations that callbacks of UCP begin: they cannot wait
 * for a flush, which needs the progress that has called them */
static uint32_t get_most(const ucp_fh_peer_t *peer)
{
    return ucs_max(MIN_UNFLUSHED, ucs_min(peer->limit / 2, UCP_FH_MAX_LENT));
}

/* Under ucp_fh::lock */
static int is_due(const ucp_win_way_t *way)
{
    const ucp_fh_peer_t *peer;

    if (way->is_flushing || (way->num_unflushed == 0)) {
        return 0;
    }

    peer = get_peer(way);
    return ucp_fh_peer_is_wanted(peer) ||
           (way->num_unflushed >= get_most(peer));
}

void ucp_win_way_flush_if_due(ucp_win_way_t *way)
{
    ucp_fh_t *fh              = ucp_win_fh();
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send      = flushed,
        .user_data    = way
    };
    int begins;

    ucp_fh_lock(fh);
    begins = is_due(way);
    if (begins) {
        ucs_list_splice_tail(&way->flushing, &way->unflushed);
        ucs_list_head_init(&way->unflushed);
        way->num_unflushed = 0;
        way->is_flushing   = 1;
    }
    ucp_fh_unlock(fh);

    if (begins && !UCS_PTR_IS_PTR(ucp_ep_flush_nbx(way->ep, &param))) {
        finish_flush(way);
    }
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

/* @return a way of a worker whose flush is due, or NULL */
static ucp_win_way_t *find_due(ucp_fh_t *fh, ucp_worker_h worker)
{
    ucp_win_way_t *way;

    ucs_list_for_each(way, &ucp_win.dirty, dirty) {
        if ((way->worker == worker) && is_due(way)) {
            return way;
        }
    }

    return NULL;
}

/* Flush all ways of a worker for which that is due */
static void flush_due(ucp_fh_t *fh, ucp_worker_h worker)
{
    ucp_win_way_t *way;

    do {
        ucp_fh_lock(fh);
        way = find_due(fh, worker);
        ucp_fh_unlock(fh);
        if (way != NULL) {
            ucp_win_way_flush_if_due(way);
        }
    } while (way != NULL);
}

/* @return whether a worker is one of the context whose windows are served. If so,
 *         Firehose stays while the worker is there; not so with workers of other
 *         contexts, among them Firehose's own */
static int is_served(ucp_worker_h worker)
{
    /* The latter was written before Firehose was made known, which the caller has
     * seen, and does not change any more */
    return ucp_win_map_find(&ucp_win.contexts, worker) == ucp_win.mem_context;
}

void ucp_win_way_progressed(ucp_worker_h worker, int is_idle)
{
    static __thread unsigned count;
    ucp_fh_t *fh = ucp_win_fh();

    if (fh == NULL) {
        return;
    }

    if (is_idle && is_served(worker)) {
        (void)ucp_fh_drive_help(fh);
    }
    if ((++count % LOOK_EVERY == 0) &&
        (atomic_load_explicit(&ucp_win.num_dirty, memory_order_relaxed) > 0)) {
        flush_due(fh, worker);
    }
}

/* @return this thread's own worker with this number, or NULL */
static ucp_worker_h find_own(unsigned number)
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

void ucp_win_ways_help(void)
{
    unsigned i = 0;
    ucp_worker_h worker;

    for (; (worker = find_own(i)) != NULL; ++i) {
        flush_due(ucp_win_fh(), worker);
        (void)ucp_worker_progress(worker);
    }
}


/* While this thread waits for a way, a peer may wait for another worker of
 * it */
static void progress(const ucp_win_way_t *way)
{
    if (ucp_worker_progress(way->worker) == 0) {
        ucp_win_ways_help();
    }
}

/* Wait until a way is flushed: what was begun on it is complete then. The
 * pieces of requests that go on are released by their tickets */
static ucs_status_t flush(ucp_win_way_t *way)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    ucs_list_link_t pieces;
    ucs_status_t status;
    void *request;

    (void)ucp_win_pieces_take(way->worker, way->ep, &pieces);
    request = ucp_ep_flush_nbx(way->ep, &param);
    status  = UCS_PTR_STATUS(request);
    if (UCS_PTR_IS_PTR(request)) {
        while ((status = ucp_request_check_status(request)) ==
               UCS_INPROGRESS) {
            progress(way);
        }
        ucp_request_free(request);
    }
    ucp_win_pieces_release(&pieces);
    return status;
}

/* Complete what was begun on a way that has pieces */
static void complete(ucp_win_way_t *way)
{
    if (ucp_win_pieces_exist(way->worker, way->ep)) {
        (void)flush(way);
    }
}

/* A flush of the library has the way in its hands */
static void wait_for_flush(ucp_fh_t *fh, ucp_win_way_t *way)
{
    int is_flushing;

    do {
        ucp_fh_lock(fh);
        is_flushing = way->is_flushing;
        ucp_fh_unlock(fh);
        if (is_flushing) {
            progress(way);
        }
    } while (is_flushing);
}

/* Whether operations have so many of a peer's firehoses that others, which may
 * wait for them, could find too few */
static int is_scarce(ucp_fh_t *fh, uint32_t index)
{
    const ucp_fh_peer_t *peer = &fh->remote.peers[index];
    int ret;

    ucp_fh_lock(fh);
    ret = (peer->used - peer->num_idle) > (peer->limit / 2);
    ucp_fh_unlock(fh);
    return ret;
}

int ucp_win_peer_is_scarce(uint32_t peer)
{
    return ucs_unlikely(atomic_load_explicit(&ucp_win.is_threaded,
                                             memory_order_relaxed)) &&
           is_scarce(ucp_win_fh(), peer) && !ucp_win.env->is_in_progress();
}

ucs_status_t ucp_win_way_flush(ucp_win_way_t *way)
{
    ucs_status_t status = flush(way);

    wait_for_flush(ucp_win_fh(), way);
    return status;
}

/* @return a way of a worker through which something was begun, or NULL */
static ucp_win_way_t *find_dirty(ucp_fh_t *fh, ucp_worker_h worker)
{
    ucp_win_way_t *found = NULL;
    ucp_win_way_t *way;

    ucp_fh_lock(fh);
    ucs_list_for_each(way, &ucp_win.dirty, dirty) {
        if (way->worker == worker) {
            found = way;
            break;
        }
    }
    ucp_fh_unlock(fh);
    return found;
}

void ucp_win_ways_complete(void)
{
    unsigned i = 0;
    ucp_worker_h worker;
    ucp_win_way_t *way;

    for (; (worker = find_own(i)) != NULL; ++i) {
        while ((way = find_dirty(ucp_win_fh(), worker)) != NULL) {
            complete(way);
        }
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
        complete(way);
        wait_for_flush(fh, way);
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
    (void)ucp_win_map_take(&ucp_win.contexts, worker);
    remove_own(worker);
}
