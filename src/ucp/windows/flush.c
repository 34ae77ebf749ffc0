/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "flush.h"
#include "way.h"

#include <ucp/firehose/core/drive.h>
#include <ucp/firehose/wire/key.h>

#include <ucs/debug/log_def.h>

#include <time.h>

/* A worker's ways are looked at with one of so many of its progress calls, by chance:
 * if these were counted, a thread that progresses two workers in turn would look at
 * the same one each time */
#define LOOK_EVERY 16

/* How long the end of a worker waits for what was begun on its endpoints, s. UCP itself
 * does not: a peer that makes no progress may wait for this process to go on */
#define PATIENCE 1

/* A thread polls when so many of its progress calls in a row had nothing to do: fewer
 * are part of most flushes, and helping costs half a microsecond */
#define POLLS_AFTER 4


/* The flush of a way has ended. If it failed, the peer is gone, and its memory
 * with it */
static void finish_flush(ucp_win_way_t *way)
{
    ucp_win_entry_t entry = ucp_win_enter_always();
    ucp_fh_t *fh          = ucp_win_fh();
    ucs_list_link_t pieces;

    ucs_list_head_init(&pieces);
    ucp_win_lock(fh);
    ucp_win_pieces_end_flush(way, &pieces);
    ucp_win_unlock(fh);
    ucp_win_pieces_end(&pieces);
    ucp_win_way_put(way);
    ucp_win_leave(entry);
}

static void flushed(void *request, ucs_status_t status, void *user_data)
{
    ucp_request_free(request);
    finish_flush(user_data);
}

/* Call UCP for a flush that the pieces of a way know of, which has a reference.
 * @param ep  NULL: the endpoint may be gone, and all of the worker is flushed. @return 0:
 *            UCP has no memory for it */
static int post_flush(ucp_win_way_t *way, ucp_ep_h ep)
{
    ucp_fh_t *fh              = ucp_win_fh();
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send      = flushed,
        .user_data    = way
    };
    ucs_status_ptr_t request;

    request = (ep != NULL) ? ucp_ep_flush_nbx(ep, &param) :
                             ucp_worker_flush_nbx(way->worker, &param);
    if (ucp_win_flush_is_refused(request)) {
        ucp_win_lock(fh);
        ucp_win_pieces_undo_flush(fh, way);
        ucp_win_unlock(fh);
        ucp_win_way_put(way);
        return 0;
    }

    if (!UCS_PTR_IS_PTR(request)) {
        finish_flush(way);
    }
    return 1;
}

/* Where several threads use the worker, another one may close the endpoint
 * meanwhile */
int ucp_win_way_flush_if_due(ucp_win_way_t *way)
{
    ucp_fh_t *fh = ucp_win_fh();
    int begins;

    ucp_fh_lock(fh);
    begins = ucp_win_pieces_are_due(way);
    if (begins) {
        ucp_win_pieces_begin_flush(way);
        ucp_win_way_ref(way);
    }
    ucp_fh_unlock(fh);
    return begins && post_flush(way, way->is_multi ? NULL : way->ep);
}

/* @return a way of a worker whose flush is due, with one more reference, or NULL */
static ucp_win_way_t *get_due(ucp_fh_t *fh, ucp_worker_h worker)
{
    ucp_win_way_t *found = NULL;
    ucp_win_way_t *way;

    ucp_fh_lock(fh);
    ucs_list_for_each(way, &ucp_win.dirty, dirty) {
        if ((way->worker == worker) && ucp_win_pieces_are_due(way)) {
            ucp_win_way_ref(way);
            found = way;
            break;
        }
    }
    ucp_fh_unlock(fh);
    return found;
}

/* Flush all ways of a worker for which that is due. If UCP has no memory for a flush,
 * the next call tries again */
static void flush_due(ucp_fh_t *fh, ucp_worker_h worker)
{
    int has_begun = 1;
    ucp_win_way_t *way;

    while (has_begun && ((way = get_due(fh, worker)) != NULL)) {
        has_begun = ucp_win_way_flush_if_due(way);
        ucp_win_way_put(way);
    }
}

/* Begin the flush after which nothing uses what was begun on a way that is closing. If
 * UCP has no memory for it, it has to be tried again */
static int begin_last_flush(ucp_win_way_t *way, ucp_ep_h ep)
{
    ucp_fh_t *fh = ucp_win_fh();
    int has_begun;

    ucp_win_lock(fh);
    ucp_win_pieces_begin_flush(way);
    way->needs_flush = 0;
    ucp_win_unlock(fh);

    ucp_win_way_ref(way);
    has_begun = post_flush(way, ep);
    if (!has_begun) {
        ucp_win_lock(fh);
        way->needs_flush = 1;
        ucp_win_unlock(fh);
    }
    return has_begun;
}

static int is_refused(const ucp_win_way_t *way)
{
    return way->needs_flush;
}

/* Do what is due for ways of a worker that are closed. By a thread that may use it, and
 * not in a callback */
static void end_complete(ucp_worker_h worker)
{
    int has_begun = 1;
    ucs_list_link_t ways;
    ucp_win_way_t *way;

    while (has_begun &&
           ((way = ucp_win_way_get_closing(worker, is_refused)) != NULL)) {
        has_begun = begin_last_flush(way, NULL);
        ucp_win_way_put(way);
    }

    ucs_list_head_init(&ways);
    ucp_win_way_take_complete(worker, &ways);
    while (!ucs_list_is_empty(&ways)) {
        ucp_win_way_end(ucs_list_extract_head(&ways, ucp_win_way_t, link));
    }
}

/* Do what is due for ways of a worker. Those of Firehose's own, which it progresses under
 * locks, are not looked at */
static void look(ucp_fh_t *fh, ucp_worker_h worker)
{
    if ((fh != NULL) &&
        (atomic_load_explicit(&ucp_win.num_dirty, memory_order_relaxed) > 0)) {
        flush_due(fh, worker);
    }
    if ((atomic_load_explicit(&ucp_win.num_closing, memory_order_relaxed) > 0) &&
        !ucp_win.env->is_in_progress() &&
        (ucp_win_map_find(&ucp_win.contexts, worker) != NULL)) {
        end_complete(worker);
    }
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
    ucp_win_entry_t entry = ucp_win_enter();
    ucp_fh_t *fh;

    if (ucs_unlikely(entry == UCP_WIN_REFUSED)) {
        return;
    }

    fh       = ucp_win_fh();
    num_idle = is_idle ? num_idle + 1 : 0;
    if ((num_idle >= POLLS_AFTER) && (fh != NULL) &&
        ucp_win_worker_is_served(worker)) {
        (void)ucp_fh_drive_help(fh);
    }
    if (is_time_to_look()) {
        look(fh, worker);
    }
    ucp_win_leave(entry);
}

void ucp_win_ways_help(void)
{
    ucp_fh_t *fh = ucp_win_fh();
    unsigned i   = 0;
    ucp_worker_h worker;

    for (; (worker = ucp_win_worker_own(i)) != NULL; ++i) {
        if (fh != NULL) {
            flush_due(fh, worker);
        }
        (void)ucp_worker_progress(worker);
    }
}


/* While this thread waits for a way, a peer may wait for another worker of
 * it */
static void progress(ucp_worker_h worker)
{
    if (ucp_worker_progress(worker) == 0) {
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
            progress(way->worker);
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
        is_flushing = (way->num_flushes > 0);
        ucp_fh_unlock(fh);
        if (is_flushing) {
            progress(way->worker);
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

/* A callback of UCP may close the endpoint while this waits: a reference keeps the way */
ucs_status_t ucp_win_way_flush(ucp_win_way_t *way)
{
    ucs_status_t status;

    ucp_win_way_ref(way);
    status = flush(way);
    wait_for_flush(ucp_win_fh(), way);
    ucp_win_way_put(way);
    return status;
}

static int is_to_self(const ucp_win_way_t *way)
{
    return way->peer == (uint32_t)ucp_win.env->index;
}

/* @return a way of a worker through which something was begun to this process, or
 * NULL */
static ucp_win_way_t *find_to_self(ucp_fh_t *fh, ucp_worker_h worker)
{
    ucp_win_way_t *found = NULL;
    ucp_win_way_t *way;

    ucp_fh_lock(fh);
    ucs_list_for_each(way, &ucp_win.dirty, dirty) {
        if ((way->worker == worker) && !way->is_closing && is_to_self(way)) {
            found = way;
            break;
        }
    }
    ucp_fh_unlock(fh);
    return found;
}

/* @return whether a function is true of any of the ways of a worker whose endpoints are
 * being closed */
static int are_closing(ucp_worker_h worker, ucp_win_way_is_t is)
{
    ucp_win_way_t *way = ucp_win_way_get_closing(worker, is);

    if (way != NULL) {
        ucp_win_way_put(way);
    }
    return way != NULL;
}

void ucp_win_ways_complete(void)
{
    unsigned i = 0;
    ucp_worker_h worker;
    ucp_win_way_t *way;

    for (; (worker = ucp_win_worker_own(i)) != NULL; ++i) {
        while ((way = find_to_self(ucp_win_fh(), worker)) != NULL) {
            if (ucp_win_way_flush(way) == UCS_ERR_NO_MEMORY) {
                progress(worker); /* What ends gives UCP some */
            }
        }
        while (!ucp_win.env->is_in_progress() &&
               are_closing(worker, is_to_self)) {
            progress(worker);
            end_complete(worker);
        }
    }
}

static int is_waited_for(const ucp_win_way_t *way)
{
    return !way->is_abandoned;
}

/* What was begun on the ways of a worker is taken for complete, which ends now. Flushes
 * that are under way still find the ways */
static void abandon_closing(ucp_worker_h worker)
{
    ucp_fh_t *fh = ucp_win_fh();
    ucs_list_link_t pieces;
    ucp_win_way_t *way;

    while ((way = ucp_win_way_get_closing(worker, is_waited_for)) != NULL) {
        ucs_list_head_init(&pieces);
        ucp_win_lock(fh);
        way->is_abandoned = 1;
        ucp_win_pieces_take_dirty(way, &pieces);
        ucp_win_unlock(fh);
        ucp_win_pieces_end(&pieces);
        ucp_win_way_put(way);
    }
}

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec + (ts.tv_nsec * 1e-9);
}

static int is_any(const ucp_win_way_t *way)
{
    return 1;
}

/* Wait until the last flushes of all endpoints of a worker that are being closed have
 * ended, and free their ways */
static void end_all(ucp_worker_h worker)
{
    double end = now() + PATIENCE;

    end_complete(worker);
    while (are_closing(worker, is_any)) {
        if (now() > end) {
            abandon_closing(worker);
        }
        progress(worker);
        end_complete(worker);
    }
}

/* The endpoint of a way is about to be closed. Gets are in no list, so it is flushed
 * whenever it has keys */
static void begin_close(ucp_win_way_t *way)
{
    ucp_fh_t *fh = ucp_win_fh();
    int has_keys;

    if (fh != NULL) {
        ucp_win_pieces_close(fh, way);
    }

    ucp_win_lock(fh);
    way->is_closing = 1;
    has_keys        = !ucs_list_is_empty(&way->rkeys) ||
                      !ucs_list_is_empty(&way->trash);
    ucp_win_unlock(fh);
    if (has_keys) {
        (void)begin_last_flush(way, way->ep);
    }
}

void *ucp_win_way_begin_close(ucp_ep_h ep)
{
    ucp_win_way_t *way = ucp_win_map_take(&ucp_win.ways, ep);
    ucp_win_entry_t entry;

    if (way != NULL) {
        entry = ucp_win_enter_always();
        begin_close(way);
        ucp_win_leave(entry);
    }
    return way;
}

/* Nothing was closed. There is room for the way, which was taken out of it */
static void reopen(ucp_win_way_t *way)
{
    ucp_fh_t *fh = ucp_win_fh();

    ucp_win_lock(fh);
    way->is_closing = 0;
    ucp_win_unlock(fh);
    if (ucp_win_map_put(&ucp_win.ways, way->ep, way) != UCS_OK) {
        ucs_warn("windows: no memory to note an endpoint");
    }
}

void ucp_win_way_closed(void *closing, int is_refused)
{
    ucp_win_entry_t entry = ucp_win_enter_always();
    ucp_win_way_t *way    = closing;
    ucp_worker_h worker   = way->worker;

    if (is_refused) {
        reopen(way);
    } else {
        ucp_win_way_add_closing(way);
        if (!ucp_win.env->is_in_progress()) {
            end_complete(worker);
        }
    }
    ucp_win_leave(entry);
}

void ucp_win_way_close_worker(ucp_worker_h worker)
{
    ucp_win_entry_t entry = ucp_win_enter_always();
    ucp_win_way_t *way;

    while ((way = ucp_win_way_open_of(worker)) != NULL) {
        (void)ucp_win_map_take(&ucp_win.ways, way->ep);
        begin_close(way);
        ucp_win_way_add_closing(way);
    }

    end_all(worker);
    ucp_win_worker_remove(worker);
    ucp_win_leave(entry);
}
