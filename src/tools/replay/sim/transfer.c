/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "transfer.h"

#include <string.h>


void predreg_transfers_init(predreg_transfers_t *transfers,
                            predreg_account_t *account, predreg_world_t *world)
{
    transfers->account = account;
    transfers->world   = world;
    ucs_list_head_init(&transfers->list);
}

/* Insert a transfer into the list, behind those whose oldest piece lands no
 * later */
static void insert(predreg_transfers_t *transfers, predreg_transfer_t *transfer)
{
    predreg_transfer_t *other;

    ucs_list_for_each(other, &transfers->list, link) {
        if (other->lands > transfer->lands) {
            break;
        }
    }
    ucs_list_insert_before(&other->link, &transfer->link);
}

/* Compute when the oldest piece lands: when the transfer has moved all bytes up
 * to the end of the piece. The last piece lands when the use ends. */
static void set_landing(predreg_transfer_t *transfer)
{
    const predreg_use_t *use             = transfer->use;
    const ucs_rcache_pred_piece_t *piece = &transfer->pieces[0];
    uint64_t moved;

    transfer->lands = UINT64_MAX;
    if (transfer->num_pieces > 0) {
        moved = piece->start + piece->length - use->address;
        if (moved < use->length) {
            transfer->lands = transfer->begun +
                              (unsigned __int128)moved *
                              (use->end - use->begin) / use->length;
        }
    }
}

/* Register the next piece of the data that is left, if there is room for
 * it.
 * @return whether another one may follow. */
static int add_piece(predreg_transfers_t *transfers,
                     predreg_transfer_t *transfer)
{
    const predreg_use_t *use       = transfer->use;
    ucs_rcache_pred_piece_t *piece = &transfer->pieces[transfer->num_pieces];
    uint64_t left                  = use->address + use->length -
                                     transfer->next;
    ucs_status_t status;

    if ((left == 0) ||
        (transfer->num_pieces == UCS_RCACHE_PRED_PIECES_IN_FLIGHT)) {
        return 0;
    }

    status = ucs_rcache_pred_piece_reg(&transfer->super, transfer->next, left,
                                       use->flags, piece);
    if (status != UCS_OK) {
        return 0;
    }

    predreg_holding_use(transfers->account,
                        predreg_world_holding(transfers->world, piece->memh),
                        transfer->site, predreg_world_now(transfers->world));
    transfer->next += piece->length;
    ++transfer->num_pieces;
    return 1;
}

/* Release the oldest piece, which is not needed any more */
static void release_piece(predreg_transfers_t *transfers,
                          predreg_transfer_t *transfer)
{
    ucs_rcache_pred_piece_t piece = transfer->pieces[0];

    --transfer->num_pieces;
    memmove(&transfer->pieces[0], &transfer->pieces[1],
            transfer->num_pieces * sizeof(transfer->pieces[0]));
    predreg_holding_unuse(transfers->account,
                          predreg_world_holding(transfers->world, piece.memh),
                          predreg_world_now(transfers->world));
    ucs_rcache_pred_piece_dereg(transfer->super.domain, &piece);
}

uint64_t predreg_transfer_begin(predreg_transfers_t *transfers,
                                predreg_transfer_t *transfer,
                                const predreg_use_t *use, predreg_site_t *site)
{
    int more;

    transfer->use   = use;
    transfer->site  = site;
    transfer->next  = use->address;
    more            = add_piece(transfers, transfer);
    transfer->begun = predreg_world_now(transfers->world);
    while (more) {
        more = add_piece(transfers, transfer);
    }

    set_landing(transfer);
    insert(transfers, transfer);
    return transfer->begun;
}

uint64_t predreg_transfers_next(predreg_transfers_t *transfers)
{
    return ucs_list_is_empty(&transfers->list) ?
           UINT64_MAX :
           ucs_list_head(&transfers->list, predreg_transfer_t, link)->lands;
}

void predreg_transfers_land(predreg_transfers_t *transfers)
{
    predreg_transfer_t *transfer = ucs_list_head(&transfers->list,
                                                 predreg_transfer_t, link);

    release_piece(transfers, transfer);
    add_piece(transfers, transfer);
    ucs_list_del(&transfer->link);
    set_landing(transfer);
    insert(transfers, transfer);
}

void predreg_transfer_end(predreg_transfers_t *transfers,
                          predreg_transfer_t *transfer)
{
    ucs_list_del(&transfer->link);
    ucs_rcache_pred_end_in_pieces(&transfer->super);
    while (transfer->num_pieces > 0) {
        release_piece(transfers, transfer);
    }
}
