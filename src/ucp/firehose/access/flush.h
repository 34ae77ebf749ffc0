/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_FLUSH_H_
#define UCP_FH_FLUSH_H_

#include "worker.h"

/** @file flush.h
 *
 * What was written through firehoses has to have arrived before they may be
 * moved: the peer unpins the memory as soon as they are given back, and an
 * adapter refuses a write to memory that is not registered any more. The
 * completion of a put does not say so, but that of a flush of its endpoint
 * does. */

/** Something was written through a piece. Under ucp_fh::lock. */
void ucp_fh_flush_later(ucp_fh_piece_t *piece);

/** @return whether a way is to be flushed now: a request waits for its peer's
 *          firehoses, the peer wants some back, or the way has much of them, see
 *          ucp_fh_peer_has_lent_much(). Under ucp_fh::lock. */
int ucp_fh_flush_is_due(const ucp_fh_way_t *way);

/** Begin to flush a way, unless that is under way. Without lock. */
void ucp_fh_flush_way(ucp_fh_way_t *way);

/** Begin to flush those ways of a worker for which that is due. Without
 *  lock. */
void ucp_fh_flush_due(ucp_fh_worker_h worker);

/**
 * Begin to flush all that was posted on a worker. Without lock.
 *
 * @param [in] flush  Memory that is not touched any more when @a done is called.
 * @param [in] done   Called with @a arg when all of it has arrived. May be
 *                    called before the function returns.
 */
void ucp_fh_flush_all(ucp_fh_worker_h worker, ucp_fh_flush_t *flush,
                      void (*done)(void *arg, ucs_status_t status), void *arg);

#endif
