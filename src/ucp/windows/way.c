/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "state.h"

#include <ucs/debug/log_def.h>

#include <stdlib.h>


ucp_win_t ucp_win = {
    .by_ep      = UCS_MAP_INITIALIZER(UCS_RANK_WIN_MAP),
    .contexts   = UCS_MAP_INITIALIZER(UCS_RANK_WIN_MAP),
    .windows    = UCS_MAP_INITIALIZER(UCS_RANK_WIN_MAP),
    .remotes    = UCS_MAP_INITIALIZER(UCS_RANK_WIN_MAP),
    .lock       = UCS_MUTEX_INITIALIZER(UCS_RANK_WIN),
    .unused     = PTHREAD_COND_INITIALIZER,
    .start_lock = UCS_MUTEX_INITIALIZER(UCS_RANK_WIN_START),
    .none.lock  = UCS_MUTEX_INITIALIZER(UCS_RANK_FH)
};

__thread unsigned ucp_win_depth;

ucp_win_entry_t ucp_win_enter_always(void)
{
    ucp_win_entry_t entry = ucp_win_enter();

    if (ucs_likely(entry != UCP_WIN_REFUSED)) {
        return entry;
    }

    /* The thread that ends Firehose holds the lock while it looks for other calls and, if
     * there are none, sets ucp_win_t::fh to NULL: so either it finds this call counted,
     * or this call finds NULL */
    ucs_mutex_lock(&ucp_win.lock);
    if (ucp_win_fh() != NULL) {
        atomic_fetch_add(&ucp_win.num_calls, 1);
        ucp_win_depth = 1;
        entry         = UCP_WIN_COUNTED;
    }
    ucs_mutex_unlock(&ucp_win.lock);
    return entry;
}


static void set_threaded(void)
{
    ucs_relaxed_store(&ucp_win.is_threaded, 1);
}

/* Its address is the value in ucp_win.contexts of each context that was made with
 * mt_workers_shared */
static char shared;

void ucp_win_context_add(ucp_context_h context, int is_shared)
{
    void *value = is_shared ? (void*)&shared : context;
    unsigned num_before;

    num_before = ucs_relaxed_add(&ucp_win.num_contexts, 1);
    if (is_shared || (num_before > 0)) {
        set_threaded();
    }
    if (ucs_map_put(&ucp_win.contexts, context, value) != UCS_OK) {
        ucs_warn("windows: no memory to note a context");
    }
}

int ucp_win_context_remove(ucp_context_h context)
{
    return ucs_map_take(&ucp_win.contexts, context) != NULL;
}

/* If there is no memory to note a worker, ucp_win_worker_get() does not find it. If its
 * mode is MULTI, hides_multi is set then, and is_serial() returns 0 for all contexts */
void ucp_win_worker_add(ucp_context_h context, ucp_worker_h worker)
{
    const void *known = ucs_map_find(&ucp_win.contexts, context);
    ucp_win_worker_t *added;
    int is_multi;

    if (known == NULL) {
        return;
    }

    added = calloc(1, sizeof(*added));
    if ((ucs_map_put(&ucp_win.contexts, worker, context) != UCS_OK) ||
        (added == NULL)) {
        ucs_warn("windows: no memory to note a worker");
    }

    is_multi = ucp_fh_is_multi(worker);
    if (is_multi) {
        set_threaded();
    }
    ucs_mutex_lock(&ucp_win.lock);
    if (added != NULL) {
        added->worker    = worker;
        added->context   = context;
        added->is_multi  = is_multi;
        added->is_shared = (known == &shared);
        ucs_list_add_tail(&ucp_win.workers, &added->link);
    } else if (is_multi) {
        ucp_win.hides_multi = 1;
    }
    ucs_mutex_unlock(&ucp_win.lock);
}

void ucp_win_worker_remove(ucp_worker_h worker)
{
    ucp_win_worker_t *removed, *next;

    (void)ucs_map_take(&ucp_win.contexts, worker);
    ucs_mutex_lock(&ucp_win.lock);
    ucs_list_for_each_safe(removed, next, &ucp_win.workers, link) {
        if (removed->worker == worker) {
            ucs_list_del(&removed->link);
            while (removed->num_users > 0) {
                ucs_mutex_wait(&ucp_win.lock, &ucp_win.unused);
            }
            free(removed);
            break;
        }
    }
    ucs_mutex_unlock(&ucp_win.lock);
}

/* Under win.lock. @return whether the threads of the program call UCP for a context one
 * at a time: then the thread in such a call may use all workers of the context */
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


/* A flush of the library has ended: perhaps this is a callback, or Firehose has ended
 * before */
static void flushed(ucp_fh_way_t *way)
{
    ucp_win_entry_t entry = ucp_win_enter_always();

    ucp_fh_way_flushed(ucp_win_tables(), way);
    ucp_win_leave(entry);
}

void ucp_win_way_add(ucp_worker_h worker, ucp_ep_h ep)
{
    ucp_context_h context = ucs_map_find(&ucp_win.contexts, worker);
    ucp_win_way_t *way;

    if (context == NULL) {
        return;
    }

    way = calloc(1, sizeof(*way));
    if ((way == NULL) || (ucs_map_put(&ucp_win.by_ep, ep, way) != UCS_OK)) {
        free(way);
        ucs_warn("windows: no memory to note an endpoint");
        return;
    }

    way->context = context;
    ucp_fh_way_init(&way->super, &ucp_win.ways, worker, ep, ucp_fh_is_multi(worker),
                    flushed);
    ucs_mutex_lock(&ucp_win.lock);
    ucs_list_add_tail(&ucp_win.open_ways, &way->link);
    ucs_mutex_unlock(&ucp_win.lock);
}

ucp_win_way_t *ucp_win_way_get(const ucs_list_link_t *ways, ucp_worker_h worker,
                               ucp_win_way_is_t is)
{
    ucp_fh_t *fh         = ucp_win_tables();
    ucp_win_way_t *found = NULL;
    ucp_win_way_t *way;

    ucs_mutex_lock(&ucp_win.lock);
    ucp_fh_lock(fh);
    ucs_list_for_each(way, ways, link) {
        if ((way->super.worker == worker) && is(way)) {
            ucp_fh_way_ref(&way->super);
            found = way;
            break;
        }
    }
    ucp_fh_unlock(fh);
    ucs_mutex_unlock(&ucp_win.lock);
    return found;
}
