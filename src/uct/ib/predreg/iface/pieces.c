/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */


#include "iface_int.h"

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

/* How long transfers go on asking for memory that the system refuses, before they are
 * copied, ns. Other processes may give memory back meanwhile: a helper that is asked does
 * so within 4 ms. In this time some 100 MB could be copied */
#define PATIENCE 100000000ull


static void piece_release(uct_predreg_piece_t *piece)
{
    uct_predreg_transfer_t *transfer = piece->transfer;

    piece->state = UCT_PREDREG_PIECE_FREE;
    if (piece->is_copied) {
        uct_predreg_copy_cancel(&transfer->copy);
    } else if (!uct_predreg_is_inherited(transfer->iface)) {
        ucs_rcache_pred_piece_dereg(transfer->domain, &piece->reg);
    }
}

void uct_predreg_pieces_fail(uct_predreg_transfer_t *transfer,
                             ucs_status_t status)
{
    unsigned i;

    if (transfer->status == UCS_OK) {
        transfer->status = status;
    }

    transfer->length = 0;
    for (i = 0; i < UCS_RCACHE_PRED_PIECES_IN_FLIGHT; ++i) {
        if (transfer->pieces[i].state == UCT_PREDREG_PIECE_READY) {
            piece_release(&transfer->pieces[i]);
        }
    }
}

void uct_predreg_pieces_landed(uct_predreg_piece_t *piece, ucs_status_t status)
{
    piece_release(piece);
    if (status != UCS_OK) {
        uct_predreg_pieces_fail(piece->transfer, status);
    }
}

int uct_predreg_pieces_are_over(const uct_predreg_transfer_t *transfer)
{
    unsigned i;

    for (i = 0; i < UCS_RCACHE_PRED_PIECES_IN_FLIGHT; ++i) {
        if (transfer->pieces[i].state != UCT_PREDREG_PIECE_FREE) {
            return 0;
        }
    }

    return transfer->length == 0;
}

/* Whether transfers are to ask again for memory that the system has just refused: it has
 * not refused memory for long. While it does, later transfers have no patience either */
static int is_patient(uct_predreg_iface_t *iface)
{
    ucs_rcache_pred_time_t now = iface->env.now(iface->env.now_arg);

    /* No time is later than now, unless the clock went back */
    if ((iface->refused_at == 0) || (iface->refused_at > now)) {
        iface->refused_at = now;
    }
    return now < iface->refused_at + PATIENCE;
}

/* Say why transfers are copied: once */
static void tell_of_refusal(uct_predreg_transfer_t *transfer)
{
    if (!transfer->iface->refusal_told) {
        transfer->iface->refusal_told = 1;
        ucs_warn("no piece of the %zu bytes at %p could be registered for %llu ms, for "
                 "lack of locked memory or of keys of the adapter: such messages are copied, "
                 "which takes longer. Raise the limit (ulimit -l), or set "
                 "UCX_RCACHE_PRED_MAX_PINNED below it; of keys, UCX_RCACHE_PRED_MAX_REGIONS; "
                 "UCX_RCACHE_PRED_NODE_MAX_PINNED and UCX_RCACHE_PRED_NODE_MAX_REGIONS where "
                 "processes share them", transfer->length, (void*)transfer->start,
                 PATIENCE / 1000000);
    }
}

/* Register the next piece of the remaining data. If the system has refused memory for too
 * long, the use counts as one whose memory cannot be registered, and goes on as a copy: a
 * transfer that failed would end a job that UCX alone might not have registered for */
static ucs_status_t piece_register(uct_predreg_piece_t *piece)
{
    uct_predreg_transfer_t *transfer = piece->transfer;
    uct_predreg_iface_t *iface       = transfer->iface;
    ucs_status_t status;

    status = ucs_rcache_pred_piece_reg(&transfer->memh->use, transfer->start,
                                       transfer->length, transfer->memh->flags,
                                       &piece->reg);
    if (status == UCS_ERR_NO_MEMORY) {
        if (is_patient(iface)) {
            return UCS_ERR_NO_RESOURCE;
        }
        tell_of_refusal(transfer);
        transfer->memh->use.unfit = 1;
    } else if ((status == UCS_OK) || (status == UCS_ERR_NO_RESOURCE)) {
        iface->refused_at = 0; /* The system refuses no memory: the piece is registered, or
                                  waits for room within the bounds */
    }
    return status;
}

/* Prepare the next piece of the remaining data. If attempts to register a piece have
 * shown that the memory cannot be registered, the piece is all of the remaining data, to
 * be copied */
static ucs_status_t piece_prepare(uct_predreg_piece_t *piece)
{
    uct_predreg_transfer_t *transfer    = piece->transfer;
    const ucs_rcache_pred_pieces_t *use = &transfer->memh->use;
    ucs_status_t status                 = UCS_OK;

    if (!use->unfit) {
        status = piece_register(piece);
    }

    piece->is_copied = use->unfit;
    if (piece->is_copied) {
        piece->reg.start  = transfer->start;
        piece->reg.length = transfer->length;
        piece->reg.memh   = NULL;
        status            = UCS_OK;
    }

    if (status == UCS_OK) {
        piece->state           = UCT_PREDREG_PIECE_READY;
        piece->remote_addr     = transfer->remote_addr;
        transfer->start       += piece->reg.length;
        transfer->remote_addr += piece->reg.length;
        transfer->length      -= piece->reg.length;
    }
    return status;
}

static ucs_status_t piece_post(uct_predreg_piece_t *piece)
{
    uct_predreg_transfer_t *transfer = piece->transfer;
    uct_iov_t iov                    = {
        .buffer = (void*)piece->reg.start,
        .length = piece->reg.length,
        .memh   = piece->reg.memh,
        .stride = 0,
        .count  = 1
    };
    ucs_status_t status;

    piece->comp.count  = 1;
    piece->comp.status = UCS_OK;
    status = piece->is_copied ?
             transfer->copy_func(transfer->iface, &transfer->copy, transfer->ep,
                                 &iov, piece->remote_addr, transfer->rkey,
                                 &piece->comp) :
             transfer->post(transfer->ep, &iov, 1, piece->remote_addr,
                            transfer->rkey, &piece->comp);
    if (status == UCS_INPROGRESS) {
        piece->state = UCT_PREDREG_PIECE_IN_FLIGHT;
    } else if (status != UCS_ERR_NO_RESOURCE) {
        piece_release(piece);
    }
    return status;
}

/* Bring a piece as far as possible now; when it has landed, the next piece takes its
 * place.
 * @return the line that the transfer has to wait in for the piece; NONE: it waits for no
 * room or place, or has failed. */
static uct_predreg_line_t piece_push(uct_predreg_piece_t *piece,
                                     int may_register)
{
    uct_predreg_transfer_t *transfer = piece->transfer;
    uct_predreg_line_t line          = UCT_PREDREG_LINE_ROOM;
    ucs_status_t status;

    do {
        if (piece->state == UCT_PREDREG_PIECE_IN_FLIGHT) {
            return UCT_PREDREG_LINE_NONE;
        }

        if (piece->state == UCT_PREDREG_PIECE_FREE) {
            if (transfer->length == 0) {
                return UCT_PREDREG_LINE_NONE;
            }

            status = may_register ? piece_prepare(piece) : UCS_ERR_NO_RESOURCE;
            if (status != UCS_OK) {
                break;
            }
        }

        line   = UCT_PREDREG_LINE_PLACE;
        status = piece_post(piece);
        if (status == UCS_OK) {
            line = UCT_PREDREG_LINE_ROOM; /* The piece has landed; the next one takes its
                                           * place */
        }
    } while (status == UCS_OK);

    if (status == UCS_ERR_NO_RESOURCE) {
        return line;
    }

    if (status != UCS_INPROGRESS) {
        uct_predreg_pieces_fail(transfer, status);
    }
    return UCT_PREDREG_LINE_NONE;
}

uct_predreg_line_t uct_predreg_pieces_push(uct_predreg_transfer_t *transfer,
                                           int may_register)
{
    uct_predreg_line_t line = UCT_PREDREG_LINE_NONE;
    uct_predreg_line_t other;
    unsigned i;

    /* A forked child must not register anything in its parent's cache */
    if (transfer->iface->closing ||
        uct_predreg_is_inherited(transfer->iface)) {
        uct_predreg_pieces_fail(transfer, UCS_ERR_CANCELED);
    }

    for (i = 0; i < UCS_RCACHE_PRED_PIECES_IN_FLIGHT; ++i) {
        other = piece_push(&transfer->pieces[i], may_register);
        if (other == UCT_PREDREG_LINE_ROOM) {
            may_register = 0; /* The next piece would not find room either */
        }

        /* A transfer that waits for room and for a place in the send queue stands in the
         * line for a place, which is served first */
        if ((line == UCT_PREDREG_LINE_NONE) ||
            (other == UCT_PREDREG_LINE_PLACE)) {
            line = other;
        }
    }

    return (transfer->status == UCS_OK) ? line : UCT_PREDREG_LINE_NONE;
}
