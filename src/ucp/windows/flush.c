/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "flush.h"
#include "way.h"

#include <ucp/firehose/core/drive.h>
#include <ucp/firehose/wire/key.h>

#include <ucs/base/clock.h>
#include <ucs/base/wait.h>
#include <ucs/debug/log_def.h>

#include <time.h>

/* A worker's ways are looked at with one of so many of its progress calls, by chance:
 * if these were counted, a thread that progresses two workers in turn would look at
 * the same one each time */
#define LOOK_EVERY 16

/* How long calls wait for what was begun on endpoints, s, which UCP itself would not do: a
 * peer that makes no progress may wait for this process to go on */
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
        (ucs_map_find(&ucp_win.contexts, worker) != NULL)) {
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

static int is_in_callback(void)
{
    return ucp_win.env->is_in_progress();
}

void ucp_win_ways_help(ucp_context_h context)
{
    ucp_fh_t *fh = ucp_win_fh();
    unsigned i   = 0;
    ucp_win_worker_t *helped;

    for (; (helped = ucp_win_worker_get(context, i)) != NULL; ++i) {
        if (fh != NULL) {
            flush_due(fh, helped->worker);
        }
        (void)ucp_worker_progress(helped->worker);
        ucp_win_worker_put(helped);
    }
}


/* While this thread waits for a worker, a peer may wait for another one of this
 * process */
static void progress(ucp_context_h context, ucp_worker_h worker)
{
    if (ucp_worker_progress(worker) == 0) {
        ucp_win_ways_help(context);
        ucs_give_way(NULL);
    }
}

static double now(void)
{
    return (double)ucs_monotonic_ns() / UCS_NSEC_PER_SEC;
}

int ucp_win_peer_is_scarce(uint32_t peer)
{
    return ucs_unlikely(atomic_load_explicit(&ucp_win.is_threaded,
                                             memory_order_relaxed)) &&
           ucp_win_pieces_are_scarce(ucp_win_fh(), peer) && !is_in_callback();
}

/* Progress a worker until a request is complete: once at least, and until a time at most.
 * @return its status */
static ucs_status_t
wait_until(ucp_context_h context, ucp_worker_h worker, void *request, double end)
{
    int is_early = 1;
    ucs_status_t status;

    while (((status = ucp_request_check_status(request)) == UCS_INPROGRESS) &&
           is_early) {
        progress(context, worker);
        is_early = (now() < end);
    }
    return status;
}

ucs_status_t ucp_win_way_wait(ucp_win_way_t *way, void *request)
{
    int is_slow = atomic_load_explicit(&way->is_slow, memory_order_relaxed);
    ucs_status_t status;

    status = wait_until(way->context, way->worker, request,
                        is_slow ? 0 : now() + PATIENCE);
    atomic_store_explicit(&way->is_slow, status == UCS_INPROGRESS,
                          memory_order_relaxed);
    return status;
}

/* Whether something was begun on a way of which it is not known that it is complete, not
 * counting what the program itself flushes */
static int is_begun(const ucp_win_way_t *way)
{
    return (way->num_unflushed > 0) || (way->num_flushes > 0);
}

/* Begin a flush of what was begun on a way of this thread alone, if there is something */
static void begin_flush(ucp_fh_t *fh, ucp_win_way_t *way)
{
    int begins;

    ucp_fh_lock(fh);
    begins = (way->num_unflushed > 0);
    if (begins) {
        ucp_win_pieces_begin_flush(way);
        ucp_win_way_ref(way);
    }
    ucp_fh_unlock(fh);
    if (begins) {
        (void)post_flush(way, way->ep);
    }
}

/* Flush a worker of this thread alone, until this time at most: those of its endpoints
 * that need it, since others may not be connected yet */
static void flush_own(ucp_fh_t *fh, const ucp_win_worker_t *worker, double end)
{
    ucp_win_way_t *way;

    while ((now() < end) &&
           ((way = ucp_win_way_get_open(worker->worker, is_begun)) != NULL)) {
        begin_flush(fh, way);
        progress(worker->context, worker->worker);
        ucp_win_way_put(way);
    }
}

/* Flush a worker that other threads may use, which may close its endpoints meanwhile, and
 * begin more */
static void flush_multi(const ucp_win_worker_t *worker, double end)
{
    const ucp_request_param_t param = {.op_attr_mask = 0};
    ucp_win_way_t *way = ucp_win_way_get_open(worker->worker, is_begun);
    void *request;

    if (way == NULL) {
        return;
    }

    ucp_win_way_put(way);
    request = ucp_worker_flush_nbx(worker->worker, &param);
    if (UCS_PTR_IS_PTR(request)) {
        (void)wait_until(worker->context, worker->worker, request, end);
        ucp_request_free(request);
    }
}

void ucp_win_ways_flush(ucp_context_h context)
{
    ucp_fh_t *fh = ucp_win_fh();
    double end   = now() + PATIENCE;
    unsigned i   = 0;
    ucp_win_worker_t *worker;

    if (is_in_callback()) {
        return;
    }

    for (; (worker = ucp_win_worker_get(context, i)) != NULL; ++i) {
        if (worker->is_multi) {
            flush_multi(worker, end);
        } else {
            flush_own(fh, worker, end);
        }
        ucp_win_worker_put(worker);
    }
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

static int is_any(const ucp_win_way_t *way)
{
    return 1;
}

/* Wait until the last flushes of all endpoints of a worker that are being closed have
 * ended, and free their ways */
static void end_all(ucp_worker_h worker)
{
    ucp_context_h context = ucs_map_find(&ucp_win.contexts, worker);
    double end            = now() + PATIENCE;

    end_complete(worker);
    while (are_closing(worker, is_any)) {
        if (now() > end) {
            abandon_closing(worker);
        }
        progress(context, worker);
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
    ucp_win_way_t *way = ucs_map_take(&ucp_win.ways, ep);
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
    if (ucs_map_put(&ucp_win.ways, way->ep, way) != UCS_OK) {
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
        (void)ucs_map_take(&ucp_win.ways, way->ep);
        begin_close(way);
        ucp_win_way_add_closing(way);
    }

    end_all(worker);
    ucp_win_worker_remove(worker);
    ucp_win_leave(entry);
}
