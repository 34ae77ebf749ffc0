/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "state.h"

#include <ucs/base/clock.h>
#include <ucs/debug/log_def.h>

/* One of LOOK_EVERY calls of progress looks at the ways of its worker. Chance says which
 * call: with a counter, a thread that progresses two workers in turn would look at the
 * ways of one of these workers alone */
#define LOOK_EVERY 16

/* After this number of calls of progress in a row without anything to do, a thread is
 * taken to poll. Not after the first one: most flushes have some such calls, and to
 * answer peers in each would cost half a microsecond */
#define POLLS_AFTER 4


/* Take a way of a worker out of ucp_win_t::closing_ways whose operations are complete: no
 * flush is under way, or the way is abandoned. A way whose last flush UCP has refused is
 * complete only when the worker ends. Release its pieces, and put its keys into its trash.
 * @param [in] is_last  Whether the worker ends. @return the way, or NULL */
static ucp_win_way_t *take_complete(ucp_worker_h worker, int is_last)
{
    ucp_fh_t *fh         = ucp_win_tables();
    ucp_win_way_t *found = NULL;
    ucp_win_way_t *way;

    ucs_mutex_lock(&ucp_win.lock);
    ucp_fh_lock(fh);
    ucs_list_for_each(way, &ucp_win.closing_ways, link) {
        if ((way->super.worker == worker) &&
            (way->is_abandoned ||
             ((way->super.num_flushes == 0) && (is_last || !way->is_unflushed)))) {
            ucs_list_del(&way->link);
            ucp_fh_way_drop(fh, &way->super);
            ucs_relaxed_sub(&ucp_win.num_closing, 1);
            found = way;
            break;
        }
    }
    ucp_fh_unlock(fh);
    ucs_mutex_unlock(&ucp_win.lock);
    return found;
}

/* Destroy the keys of all closing ways of a worker whose operations are complete. By a
 * thread that may use the worker, and not in a callback */
static void end_complete(ucp_worker_h worker, int is_last)
{
    ucp_win_way_t *way;

    while ((way = take_complete(worker, is_last)) != NULL) {
        ucp_fh_way_empty_trash(ucp_win_tables(), &way->super);
        ucp_fh_way_put(&way->super);
    }
}

/* Whether a worker belongs to the context whose windows are served: as long as such a
 * worker exists, Firehose does not end. The answer is 0 for workers of other contexts,
 * and for Firehose's own worker. To be called when Firehose is known to run */
static int is_served(ucp_worker_h worker)
{
    /* Without lock: mem_context was written before ucp_win_t::fh, and does not change any
     * more */
    return ucs_map_find(&ucp_win.contexts, worker) == ucp_win.mem_context;
}

/* Begin the flushes that are due for ways of a worker, and destroy keys of its closing
 * ways. Not for Firehose's own worker, which is in no map: Firehose progresses that
 * worker under locks */
static void look(ucp_fh_t *fh, ucp_worker_h worker)
{
    if ((fh != NULL) && (ucs_relaxed_load(&ucp_win.ways.num) > 0)) {
        ucp_fh_ways_flush_due(fh, &ucp_win.ways, worker);
    }
    if ((ucs_relaxed_load(&ucp_win.num_closing) > 0) &&
        !ucp_win.env->is_in_progress() &&
        (ucs_map_find(&ucp_win.contexts, worker) != NULL)) {
        end_complete(worker, 0);
    }
}

static int is_time_to_look(void)
{
    static __thread uint32_t number;

    number = (number * 1664525) + 1013904223; /* Generator from Numerical Recipes */
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
    if ((num_idle >= POLLS_AFTER) && (fh != NULL) && is_served(worker)) {
        (void)ucp_fh_drive_help(fh);
    }
    if (is_time_to_look()) {
        look(fh, worker);
    }
    ucp_win_leave(entry);
}

/* The endpoint of a way is about to be closed: begin the last flush if the way has
 * unpacked keys. Even if its lists have no pieces, since pieces of reads are in no
 * list */
static void begin_close(ucp_win_way_t *way)
{
    ucp_fh_t *fh = ucp_win_tables();
    int has_keys;

    ucp_fh_lock(fh);
    way->super.is_closing = 1;
    has_keys              = !ucs_list_is_empty(&way->super.rkeys) ||
                            !ucs_list_is_empty(&way->super.trash);
    ucp_fh_unlock(fh);
    way->is_unflushed = has_keys &&
                        !ucp_fh_way_flush(fh, &way->super, UCP_FH_FLUSH_ALWAYS);
    way->closing_ep   = way->super.ep;
    way->super.ep     = NULL; /* Since UCP may soon make a new endpoint at the same
                                 address */
}

void *ucp_win_way_begin_close(ucp_ep_h ep)
{
    ucp_win_way_t *way = ucs_map_take(&ucp_win.by_ep, ep);
    ucp_win_entry_t entry;

    if (way != NULL) {
        entry = ucp_win_enter_always();
        begin_close(way);
        ucp_win_leave(entry);
    }
    return way;
}

/* UCP has refused to close the endpoint: open its way again. The map mostly has room for
 * the way, since the way was in the map before */
static void reopen(ucp_win_way_t *way)
{
    ucp_fh_t *fh = ucp_win_tables();

    ucp_fh_lock(fh);
    way->super.is_closing = 0;
    way->super.ep         = way->closing_ep;
    ucp_fh_unlock(fh);
    if (ucs_map_put(&ucp_win.by_ep, way->super.ep, way) != UCS_OK) {
        ucs_warn("windows: no memory to note an endpoint");
    }
}

static void add_closing(ucp_win_way_t *way)
{
    ucs_mutex_lock(&ucp_win.lock);
    ucs_list_del(&way->link);
    ucs_list_add_tail(&ucp_win.closing_ways, &way->link);
    ucs_relaxed_add(&ucp_win.num_closing, 1);
    ucs_mutex_unlock(&ucp_win.lock);
}

void ucp_win_way_closed(void *closing, int is_refused)
{
    ucp_win_entry_t entry = ucp_win_enter_always();
    ucp_win_way_t *way    = closing;
    ucp_worker_h worker   = way->super.worker;

    if (is_refused) {
        reopen(way);
    } else {
        add_closing(way);
        if (!ucp_win.env->is_in_progress()) {
            end_complete(worker, 0);
        }
    }
    ucp_win_leave(entry);
}

/* Abandon all closing ways of a worker, which ends now: take their operations for
 * complete. The ways stay in memory for flushes that are under way, which have
 * references */
static void abandon_closing(ucp_worker_h worker)
{
    ucp_fh_t *fh = ucp_win_tables();
    ucp_win_way_t *way;

    ucs_mutex_lock(&ucp_win.lock);
    ucp_fh_lock(fh);
    ucs_list_for_each(way, &ucp_win.closing_ways, link) {
        if (way->super.worker == worker) {
            way->is_abandoned = 1;
            ucp_fh_way_drop(fh, &way->super);
        }
    }
    ucp_fh_unlock(fh);
    ucs_mutex_unlock(&ucp_win.lock);
}

static int is_any(const ucp_win_way_t *way)
{
    return 1;
}

/* Wait until the last flushes of all closing endpoints of a worker have ended, and free
 * their ways. After UCP_WIN_PATIENCE, abandon the ways that are left */
static void end_all(ucp_worker_h worker)
{
    ucp_context_h context = ucs_map_find(&ucp_win.contexts, worker);
    uint64_t end          = ucs_monotonic_ns() + UCP_WIN_PATIENCE;
    ucp_win_way_t *way;

    end_complete(worker, 1);
    while ((way = ucp_win_way_get(&ucp_win.closing_ways, worker, is_any)) != NULL) {
        ucp_fh_way_put(&way->super);
        if (ucs_monotonic_ns() > end) {
            abandon_closing(worker);
        }
        ucp_win_worker_progress(context, worker);
        end_complete(worker, 1);
    }
}

void ucp_win_way_close_worker(ucp_worker_h worker)
{
    ucp_win_entry_t entry = ucp_win_enter_always();
    ucp_win_way_t *way;

    while ((way = ucp_win_way_get(&ucp_win.open_ways, worker, is_any)) != NULL) {
        (void)ucs_map_take(&ucp_win.by_ep, way->super.ep);
        begin_close(way);
        add_closing(way);
        ucp_fh_way_put(&way->super);
    }

    end_all(worker);
    ucp_win_worker_remove(worker);
    ucp_win_leave(entry);
}
