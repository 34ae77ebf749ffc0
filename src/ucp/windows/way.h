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

/** Note a worker that the program has made. */
void ucp_win_worker_add(ucp_context_h context, ucp_worker_h worker);

/** A worker is about to be destroyed. */
void ucp_win_worker_remove(ucp_worker_h worker);

/** @return this thread's own worker with this number, from 0 on: one that it has
 *          made for itself alone; NULL if it has no more. */
ucp_worker_h ucp_win_worker_own(unsigned number);

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
    return (ucp_win_way_t*)ucp_win_map_find(&ucp_win.ways, ep);
}

void ucp_win_way_put(ucp_win_way_t *way);

/** @return a way of a worker that is open, or NULL. */
ucp_win_way_t *ucp_win_way_open_of(ucp_worker_h worker);

/** Its endpoint was closed: the way is a closing one from now on. */
void ucp_win_way_add_closing(ucp_win_way_t *way);

/** Tells ways apart. Called under win.lock and ucp_win_lock(). */
typedef int (*ucp_win_way_is_t)(const ucp_win_way_t *way);

/** @return a closing way of a worker for which that is true, with one more reference,
 *          or NULL. */
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
