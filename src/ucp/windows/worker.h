/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_WIN_WORKER_H_
#define UCP_WIN_WORKER_H_

#include "state.h"

/** @file worker.h
 *
 * The program's workers, and which thread may use one. */

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

#endif
