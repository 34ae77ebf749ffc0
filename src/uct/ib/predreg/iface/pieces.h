/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_PIECES_H_
#define UCT_PREDREG_PIECES_H_

#include "copy.h"
#include "endpoint.h"
#include "pieces_memh.h"

/** @file pieces.h
 *
 * The pieces of one transfer: they are registered, posted and released here.
 * When and how often that is tried, and what happens when all have landed, is
 * decided in transfer.c.
 *
 * Only the thread that is in the interface may call these functions. None of
 * them calls UCP back.
 */

typedef enum {
    UCT_PREDREG_PIECE_FREE,
    UCT_PREDREG_PIECE_READY, /**< Registered or to be copied, but there was no
                                  place in the send queue yet for all of it */
    UCT_PREDREG_PIECE_IN_FLIGHT
} uct_predreg_piece_state_t;

struct uct_predreg_transfer;

typedef struct uct_predreg_piece {
    uct_completion_t            comp;
    ucs_rcache_pred_piece_t     reg;      /**< Its memory, and its registration
                                               unless it is copied */
    struct uct_predreg_transfer *transfer;
    uint64_t                    remote_addr;
    uct_predreg_piece_state_t   state;
    int                         is_copied; /**< Memory that cannot be registered:
                                                the piece is all that is left of
                                                the transfer */
} uct_predreg_piece_t;

typedef struct uct_predreg_transfer {
    uct_predreg_entry_t       entry;       /**< First */
    uct_predreg_iface_t       *iface;
    uct_ep_get_zcopy_func_t   post;
    uct_predreg_copy_func_t   copy_func;
    uct_predreg_copy_t        copy;        /**< Of its piece that is copied */
    uct_ep_h                  ep;
    uct_rkey_t                rkey;
    uct_predreg_pieces_memh_t *memh;
    ucs_rcache_pred_domain_t  *domain;     /**< That of memh */
    uct_completion_t          *comp;       /**< UCP's completion */
    ucs_status_t              status;      /**< The first error */
    uintptr_t                 start;       /**< Local address of the data that
                                                no piece is registered for
                                                yet, */
    uint64_t                  remote_addr; /**< ... its remote address, */
    size_t                    length;      /**< ... and its length, bytes */
    uct_predreg_piece_t       pieces[UCS_RCACHE_PRED_PIECES_IN_FLIGHT];

    /* Written by transfer.c */
    uct_predreg_line_t        line;
    ucs_list_link_t           link;        /**< In that line */
    uint64_t                  ticket;      /**< Taken when it got in line */
    ucs_rcache_pred_time_t    lined_up_at; /**< When it got in line for room; 0:
                                                it never did */
} uct_predreg_transfer_t;


/**
 * Bring a transfer as far as possible now.
 *
 * @param [in] may_register  Whether further pieces may be registered; if not,
 *                           those that are registered are posted.
 * @return the line in which it waits from now on. NONE if it is over or only
 *         waits for pieces to land.
 */
uct_predreg_line_t uct_predreg_pieces_push(uct_predreg_transfer_t *transfer,
                                           int may_register);

/** Let a transfer fail: it keeps the first error, no further piece is
 *  registered, and those that were not posted are released. It is over when
 *  those in flight have landed. */
void uct_predreg_pieces_fail(uct_predreg_transfer_t *transfer,
                             ucs_status_t status);

/** Note that a piece has landed, or never will. */
void uct_predreg_pieces_landed(uct_predreg_piece_t *piece, ucs_status_t status);

/** @return whether all is done, or has failed, and no piece is in flight. */
int uct_predreg_pieces_are_over(const uct_predreg_transfer_t *transfer);

#endif
