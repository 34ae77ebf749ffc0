/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "flush.h"
#include "way.h"

#include <ucp/firehose/core/drive.h>
#include <ucp/firehose/wire/key.h>

/* A worker's ways are looked at with one of so many of its progress calls, by chance:
 * if these were counted, a thread that progresses two workers in turn would look at
 * the same one each time */
#define LOOK_EVERY 16

/* A thread polls when so many of its progress calls in a row had nothing to do: fewer
 * are part of most flushes, and helping costs half a microsecond */
#define POLLS_AFTER 4


/* The flush of a way has ended. If it failed, the peer is gone, and its memory
 * with it */
static void finish_flush(ucp_win_way_t *way)
{
    ucp_fh_t *fh = ucp_win_fh();
    ucs_list_link_t pieces;

    ucs_list_head_init(&pieces);
    ucp_fh_lock(fh);
    ucp_win_pieces_end_flush(way, &pieces);
    ucp_fh_unlock(fh);
    ucp_win_pieces_end(&pieces);
}

static void flushed(void *request, ucs_status_t status, void *user_data)
{
    ucp_request_free(request);
    finish_flush(user_data);
}

int ucp_win_way_flush_if_due(ucp_win_way_t *way)
{
    ucp_fh_t *fh              = ucp_win_fh();
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send      = flushed,
        .user_data    = way
    };
    ucs_status_ptr_t request;
    int begins;

    ucp_fh_lock(fh);
    begins = ucp_win_pieces_are_due(way);
    if (begins) {
        ucp_win_pieces_begin_flush(way);
    }
    ucp_fh_unlock(fh);

    if (!begins) {
        return 0;
    }

    request = ucp_ep_flush_nbx(way->ep, &param);
    if (ucp_win_flush_is_refused(request)) {
        ucp_fh_lock(fh);
        ucp_win_pieces_undo_flush(fh, way);
        ucp_fh_unlock(fh);
        return 0;
    }

    if (!UCS_PTR_IS_PTR(request)) {
        finish_flush(way);
    }
    return 1;
}

/* @return a way of a worker whose flush is due, or NULL */
static ucp_win_way_t *find_due(ucp_fh_t *fh, ucp_worker_h worker)
{
    ucp_win_way_t *way;

    ucs_list_for_each(way, &ucp_win.dirty, dirty) {
        if ((way->worker == worker) && ucp_win_pieces_are_due(way)) {
            return way;
        }
    }

    return NULL;
}

/* Flush all ways of a worker for which that is due. If UCP has no memory for a flush,
 * the next call tries again */
static void flush_due(ucp_fh_t *fh, ucp_worker_h worker)
{
    ucp_win_way_t *way;

    do {
        ucp_fh_lock(fh);
        way = find_due(fh, worker);
        ucp_fh_unlock(fh);
    } while ((way != NULL) && ucp_win_way_flush_if_due(way));
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
    ucp_fh_t *fh = ucp_win_fh();

    if (fh == NULL) {
        return;
    }

    num_idle = is_idle ? num_idle + 1 : 0;
    if ((num_idle >= POLLS_AFTER) && ucp_win_worker_is_served(worker)) {
        (void)ucp_fh_drive_help(fh);
    }
    if (is_time_to_look() &&
        (atomic_load_explicit(&ucp_win.num_dirty, memory_order_relaxed) > 0)) {
        flush_due(fh, worker);
    }
}

void ucp_win_ways_help(void)
{
    unsigned i = 0;
    ucp_worker_h worker;

    for (; (worker = ucp_win_worker_own(i)) != NULL; ++i) {
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
    } else if (ucp_win_flush_is_refused(request)) {
        ucp_win_pieces_give_back(&pieces);
    }
    ucp_win_pieces_end(&pieces);
    return status;
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

int ucp_win_peer_is_scarce(uint32_t peer)
{
    return ucs_unlikely(atomic_load_explicit(&ucp_win.is_threaded,
                                             memory_order_relaxed)) &&
           ucp_win_pieces_are_scarce(ucp_win_fh(), peer) &&
           !ucp_win.env->is_in_progress();
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

    for (; (worker = ucp_win_worker_own(i)) != NULL; ++i) {
        while ((way = find_dirty(ucp_win_fh(), worker)) != NULL) {
            if (ucp_win_way_flush(way) == UCS_ERR_NO_MEMORY) {
                progress(way); /* What ends gives UCP some */
            }
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

/* The keys of a way are destroyed next: complete all operations that use one. Gets are
 * in no list, so the way is flushed whenever it has keys */
static void complete(ucp_fh_t *fh, ucp_win_way_t *way)
{
    int has_keys;

    ucp_fh_lock(fh);
    has_keys = !ucs_list_is_empty(&way->rkeys);
    ucp_fh_unlock(fh);
    if (has_keys) {
        (void)ucp_win_way_flush(way);
    }
}

static void close_way(ucp_win_way_t *way)
{
    ucp_fh_t *fh = ucp_win_fh();

    if (fh != NULL) {
        complete(fh, way);
        ucp_win_pieces_close(fh, way);
        destroy_rkeys(fh, way);
    }

    ucp_win_way_end(way);
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
