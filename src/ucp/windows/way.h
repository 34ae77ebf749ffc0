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
 * The program's endpoints. */

/** Note an endpoint of the program. */
void ucp_win_way_add(ucp_worker_h worker, ucp_ep_h ep);

/** @return the way of an endpoint with one more reference, or NULL if it is not
 *          known. */
ucp_win_way_t *ucp_win_way_get(ucp_ep_h ep);

/** @return the way of an endpoint that is in use, or NULL. Takes no lock. */
static inline ucp_win_way_t *ucp_win_way_find(ucp_ep_h ep)
{
    return (ucp_win_way_t*)ucp_win_map_find(&ucp_win.ways, ep);
}

void ucp_win_way_put(ucp_win_way_t *way);

/** An endpoint is about to be closed, or a worker to be destroyed: what was
 *  begun is completed, and their keys to buckets are destroyed. */
void ucp_win_way_close(ucp_ep_h ep);
void ucp_win_way_close_worker(ucp_worker_h worker);

/** Destroy keys of a way that lead nowhere any more. By a thread that may use its
 *  worker, and not in a callback. */
void ucp_win_way_empty_trash(ucp_win_way_t *way);

#endif
