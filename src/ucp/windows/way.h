/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_WIN_WAY_H_
#define UCP_WIN_WAY_H_

#include "state.h"

/** @file way.h
 *
 * The program's workers and endpoints. */

/** Note a context for one-sided communication that the program has made.
 *
 *  @param [in] is_shared  Whether with mt_workers_shared.
 *  @return UCS_ERR_NO_MEMORY: it is not known. */
ucs_status_t ucp_win_context_add(ucp_context_h context, int is_shared);

/** It is about to be destroyed. @return whether it was known. */
int ucp_win_context_remove(ucp_context_h context);

/** Note a worker that the program has made. */
void ucp_win_worker_add(ucp_context_h context, ucp_worker_h worker);

/** A worker is about to be destroyed: waits until no thread helps it. */
void ucp_win_worker_remove(ucp_worker_h worker);

/**
 * Find a worker that this thread may use, whichever thread has made it: any of mode MULTI,
 * and if the program calls UCP for the context by one thread at a time (it was made
 * without mt_workers_shared, and has no worker of mode MULTI), all of that context. A
 * worker of another kind is used by its threads alone.
 *
 * @param [in] context  What this thread is in a call for, of itself or of a worker.
 * @param [in] number   From 0 on.
 * @return NULL if there are no more; else it is not destroyed before
 *         ucp_win_worker_put().
 */
ucp_win_worker_t *ucp_win_worker_get(ucp_context_h context, unsigned number);
void ucp_win_worker_put(ucp_win_worker_t *worker);

/** @return whether a worker is one of the context whose windows are served. If so,
 *          Firehose stays while the worker is there; not so with workers of other
 *          contexts, among them Firehose's own. Once Firehose is known. */
int ucp_win_worker_is_served(ucp_worker_h worker);


/** Note an endpoint of the program. */
void ucp_win_way_add(ucp_worker_h worker, ucp_ep_h ep);

/** @return the way of an endpoint with one more reference, or NULL if it is not
 *          known. */
ucp_win_way_t *ucp_win_way_get(ucp_ep_h ep);

/** One more reference, by who has one or knows that the endpoint is open. */
static inline void ucp_win_way_ref(ucp_win_way_t *way)
{
    atomic_fetch_add_explicit(&way->refs, 1, memory_order_relaxed);
}

/** @return the way of an endpoint that is in use, or NULL. Takes no lock. */
static inline ucp_win_way_t *ucp_win_way_find(ucp_ep_h ep)
{
    return (ucp_win_way_t*)ucs_map_find(&ucp_win.ways, ep);
}

void ucp_win_way_put(ucp_win_way_t *way);

/** @return whether its endpoint is being closed. Without lock. */
int ucp_win_way_closes(const ucp_win_way_t *way);

/** @return a way of a worker that is open, or NULL. */
ucp_win_way_t *ucp_win_way_open_of(ucp_worker_h worker);

/** Its endpoint was closed: the way is a closing one from now on. */
void ucp_win_way_add_closing(ucp_win_way_t *way);

/** Tells ways apart. Called under win.lock and ucp_win_lock(). */
typedef int (*ucp_win_way_is_t)(const ucp_win_way_t *way);

/** @return an open way of a worker for which that is true, with one more reference, or
 *          NULL. */
ucp_win_way_t *ucp_win_way_get_open(ucp_worker_h worker, ucp_win_way_is_t is);

/** The same of a closing one. */
ucp_win_way_t *ucp_win_way_get_closing(ucp_worker_h worker, ucp_win_way_is_t is);

/** Take all closing ways of a worker whose flushes have ended, or that were abandoned,
 *  for ucp_win_way_end(). */
void ucp_win_way_take_complete(ucp_worker_h worker, ucs_list_link_t *ways);

/** Destroy the keys of a way that has closed. It goes with the last reference. By a
 *  thread that may use its worker, and not in a callback. */
void ucp_win_way_end(ucp_win_way_t *way);

/** Firehose is about to end: all keys of all ways are to be destroyed, by threads that
 *  may use their workers. Under win.lock and ucp_fh::lock. */
void ucp_win_ways_discard_rkeys(void);

/** Destroy keys of a way that lead nowhere any more. By a thread that may use its
 *  worker, and not in a callback. */
void ucp_win_way_empty_trash(ucp_win_way_t *way);

#endif
