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
 * The program's endpoints, and the firehoses that its operations went through.
 * These are free again when the peer has the data: what belongs to an operation
 * that the program can wait for is released when that is complete, the rest
 * when a flush is, of the program or of the library. */

/** Firehoses that an operation goes through. */
typedef struct ucp_win_piece {
    ucp_fh_request_t request; /**< First member, see acquire.c */
    ucp_win_way_t    *way;
    ucs_list_link_t  link;    /**< In a list of the way, of an operation, or of
                                   a flush */
    int              is_ended; /**< Whether the request has ended, if it was not
                                    granted at once. Protected by
                                    ucp_fh::lock */
} ucp_win_piece_t;


/** Note a worker and an endpoint of the program. */
void ucp_win_way_add_worker(ucp_context_h context, ucp_worker_h worker);
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


/** Release pieces: what went through them has arrived, or was read. Without
 *  lock. */
void ucp_win_pieces_release(ucs_list_link_t *pieces);

/** Something was begun through pieces of a way, which the next flush covers.
 *  Takes them. */
void ucp_win_pieces_keep(ucp_win_way_t *way, ucs_list_link_t *pieces);

/** Take all pieces that a flush covers which is about to begin, of a worker or,
 *  if that is not NULL, of an endpoint.
 *
 *  @return whether there are any. */
int ucp_win_pieces_take(ucp_worker_h worker, ucp_ep_h ep,
                        ucs_list_link_t *pieces);

/** Undo that: another flush will cover them. Takes them. */
void ucp_win_pieces_give_back(ucs_list_link_t *pieces);

/** @return whether there are any; takes no lock if nobody has any. */
int ucp_win_pieces_exist(ucp_worker_h worker, ucp_ep_h ep);


/** Begin to flush a way if that is due: firehoses are waited for, a peer wants
 *  some back, or many are not flushed. By a thread that may use its worker. */
void ucp_win_way_flush_if_due(ucp_win_way_t *way);

/** Flush what is due on all workers that this thread has made for itself alone,
 *  and progress these. To be called while it waits for firehoses: it may have
 *  used them on another one, or a peer may wait for what UCX emulates on it. */
void ucp_win_ways_help(void);

/** Complete all that was begun on the workers that this thread has made for
 *  itself alone. */
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

/** Destroy keys of a way that lead nowhere any more. As above. */
void ucp_win_way_empty_trash(ucp_win_way_t *way);

/** A worker was progressed: now and then, do both for all of its ways. If there was
 *  nothing to do, its thread polls, maybe for a process that waits for this very
 *  one, and on the processor that Firehose's thread would need: so it answers
 *  peers meanwhile. */
void ucp_win_way_progressed(ucp_worker_h worker, int is_idle);

#endif
