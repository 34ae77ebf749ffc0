/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_WIN_PIECES_H_
#define UCP_WIN_PIECES_H_

#include "state.h"

/** @file pieces.h
 *
 * The firehoses that the program's operations go through.
 *
 * A piece is used by one operation at a time, which takes it and gives it back. What
 * was put through it is on its way until a flush has ended that began later; what is
 * read is there when the request is complete. After that the piece is held: the next
 * operation of the same endpoint on its buckets takes it, without asking the table.
 * Since the table takes what is held to be in use, all that is held of a peer is
 * released, the oldest first, until nobody waits for that peer's firehoses; and
 * nothing is taken while somebody does, so that nobody waits longer than without. */

typedef enum {
    UCP_WIN_PIECE_OUT,       /**< With an operation, a ticket or a flush */
    UCP_WIN_PIECE_UNFLUSHED, /**< In ucp_win_way_t::unflushed */
    UCP_WIN_PIECE_HELD       /**< In ucp_win_t::held */
} ucp_win_piece_state_t;


/** Firehoses that an operation goes through. */
typedef struct ucp_win_piece {
    ucp_fh_request_t request; /**< First member, see acquire.c */
    ucp_win_way_t    *way;
    ucs_list_link_t  link;    /**< In the list of its state, or with whoever has
                                   it */
    ucp_win_piece_state_t state; /**< Protected by ucp_fh::lock, as the next
                                      two */
    int              is_dirty; /**< Whether something was begun through it that no
                                    flush covers yet. Of whoever has the piece */
    int              is_noted; /**< Whether it was put into the way's slots */
    int              is_ended; /**< Whether the request has ended, if it was not
                                    granted at once */
    /** The key to bytes from start to end, and whether they are all that may be
     *  accessed of their bucket. Of whoever has the piece. Empty: not found yet */
    ucp_rkey_h       rkey;
    uint64_t         start;
    uint64_t         end;
    uint64_t         bucket_end;
} ucp_win_piece_t;


/** Make a piece that has no firehoses yet. @return NULL: there is no memory. */
ucp_win_piece_t *ucp_win_piece_make(ucp_win_way_t *way);

/** Free a piece that has none, or whose Firehose has ended. */
void ucp_win_piece_free(ucp_win_piece_t *piece);

/**
 * Take a piece that has the first bucket of a run, if there is one and nobody waits
 * for firehoses of the peer. Without lock.
 *
 * @param [in] run      Buckets that are wanted. None is taken that was held and has
 *                      more of them.
 * @param [in] is_read  For what ends by itself, and not by a flush: what was put
 *                      through the piece must be flushed.
 * @return NULL if there is none.
 */
ucp_win_piece_t *ucp_win_piece_take(ucp_fh_t *fh, ucp_win_way_t *way,
                                    const ucp_fh_run_t *run, int is_read);

/** What went through pieces has arrived, or was read, or nothing went through
 *  them: hold or release them, or if Firehose has ended, free them. Without
 *  lock. */
void ucp_win_pieces_end(ucs_list_link_t *pieces);

/**
 * Something was begun through pieces of a way, which the next flush covers.
 *
 * @param [inout] pieces  Taken.
 * @return whether ucp_win_way_flush_if_due() is to be called.
 */
int ucp_win_pieces_keep(ucp_win_way_t *way, ucs_list_link_t *pieces);

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

/** Release what is held of a peer, the oldest first, until nobody waits for its
 *  firehoses: for ucp_fh_t::reclaim. Under ucp_fh::lock. */
void ucp_win_pieces_reclaim(ucp_fh_t *fh, uint32_t peer);

/** A peer has no room to pin so many buckets: give back as many that nobody uses, after
 *  what is held was released if need be. Without lock.
 *
 *  @return whether there were any. */
int ucp_win_pieces_shed(ucp_fh_t *fh, uint32_t peer, uint64_t num);

/** Nothing will be begun on a way any more: release what is held for it, and hold
 *  nothing further. Without lock. */
void ucp_win_pieces_close(ucp_fh_t *fh, ucp_win_way_t *way);

/** Take all that was begun through a way and is not known to be complete, although a
 *  flush of the library may be under way. Under ucp_win_lock(). */
void ucp_win_pieces_take_dirty(ucp_win_way_t *way, ucs_list_link_t *pieces);

/** Firehose is about to end: release all that no operation has. Under ucp_fh::lock. */
void ucp_win_pieces_drop(ucp_fh_t *fh);

/** @return whether operations have so many of a peer's firehoses, after what is
 *          held was released if need be, that others, which may wait for them, could
 *          find too few. Without lock. */
int ucp_win_pieces_are_scarce(ucp_fh_t *fh, uint32_t peer);


/* What a flush that the library begins by itself does with pieces. The caller has
 * ucp_fh::lock */

/** @return whether the pieces of a way that are not flushed should be. */
int ucp_win_pieces_are_due(const ucp_win_way_t *way);

/** A flush covers these from now on, and has ended. */
void ucp_win_pieces_begin_flush(ucp_win_way_t *way);
void ucp_win_pieces_end_flush(ucp_win_way_t *way, ucs_list_link_t *pieces);

/** Or it could not begin: another flush will cover them. */
void ucp_win_pieces_undo_flush(ucp_fh_t *fh, ucp_win_way_t *way);


/** @return whether a flush that has ended at once has not begun, so that what it was
 *          to complete may still be on its way; if UCP fails in another way, the
 *          endpoint does. */
static inline int ucp_win_flush_is_refused(ucs_status_ptr_t request)
{
    return ucs_unlikely(UCS_PTR_STATUS(request) == UCS_ERR_NO_MEMORY);
}

#endif
