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

/** Flush what is due on all workers that this thread has made for itself alone,
 *  and progress these. To be called while it waits for firehoses: it may have
 *  used them on another one, or a peer may wait for what UCX emulates on it. */
void ucp_win_ways_help(void);

/** Complete all that was begun, to memory of this process, on the workers that this
 *  thread has made for itself alone. */
void ucp_win_ways_complete(void);

/** @return whether an operation on memory of a peer, which has its firehoses,
 *          has to be completed by ucp_win_way_flush() before its call returns.
 *          That is where several threads may have workers, and less than half
 *          of the peer's firehoses is left to others: nobody can tell when a
 *          thread calls UCP for its worker again, and other threads must not
 *          wait for that. */
int ucp_win_peer_is_scarce(uint32_t peer);

/** Wait until all that was begun on a way is complete. Not in a callback.
 *
 *  @return the status of the flush. */
ucs_status_t ucp_win_way_flush(ucp_win_way_t *way);

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
