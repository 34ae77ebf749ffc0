/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_WIN_FLUSH_H_
#define UCP_WIN_FLUSH_H_

#include "pieces.h"

/** @file flush.h
 *
 * What the library does so that firehoses are free again which the program has
 * written through: flushes of its own, and progress of the program's workers while a
 * thread waits. */

/** Begin to flush a way if that is due: firehoses are waited for, a peer wants
 *  some back, or many are not flushed. By a thread that may use its worker.
 *
 *  @return whether a flush has begun: 0 as well if UCP has no memory for one. */
int ucp_win_way_flush_if_due(ucp_win_way_t *way);

/** Flush what is due on all workers that this thread may use while it is in a call for a
 *  context (ucp_win_worker_get()), and progress these. To be called while it waits for
 *  firehoses: they may have been used on another worker, or a peer may wait for what UCX
 *  emulates on it. Not in a callback. */
void ucp_win_ways_help(ucp_context_h context);

/** Flush all that was begun on these workers, and wait for that a second at most; in a
 *  callback, do nothing. */
void ucp_win_ways_flush(ucp_context_h context);

/** @return whether an operation on memory of a peer, which has its firehoses,
 *          has to be completed before its call returns, if that does not take long.
 *          That is where several threads may have workers, and less than half
 *          of the peer's firehoses is left to others: nobody can tell when a
 *          thread calls UCP for its worker again, and other threads must not
 *          wait for that. */
int ucp_win_peer_is_scarce(uint32_t peer);

/** Wait for a request of UCP on a way, for a second at most, or not at all if the last one
 *  took longer: a peer may wait for this very thread. Not in a callback.
 *
 *  @return its status; UCS_INPROGRESS if it goes on. */
ucs_status_t ucp_win_way_wait(ucp_win_way_t *way, void *request);

/** An endpoint is about to be closed: a flush begins, after which the firehoses and keys
 *  of what was begun on it are not needed any more. Does not wait for it, and may be
 *  called in a callback.
 *
 *  @return what ucp_win_way_closed() is to be told; NULL: nothing. */
void *ucp_win_way_begin_close(ucp_ep_h ep);

/** UCP has closed it, or refused to. Once the flush has ended, the keys are destroyed:
 *  here, when the worker is progressed, or before it is destroyed. */
void ucp_win_way_closed(void *closing, int is_refused);

/** A worker is about to be destroyed: the same for all of its endpoints; waits until
 *  these flushes have ended, for a second at most, and destroys their keys. */
void ucp_win_way_close_worker(ucp_worker_h worker);

/** A worker was progressed: now and then, do what is due for its ways. If there was
 *  nothing to do some times in a row, its thread polls, maybe for a process that
 *  waits for this very one, and on the processor that Firehose's thread would need:
 *  so it answers peers meanwhile. */
void ucp_win_way_progressed(ucp_worker_h worker, int is_idle);

#endif
