/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "sim.h"

#include <ucs/sys/compiler_def.h>

#include <string.h>


static predreg_transfer_t *
node_transfer(const ucs_tree_node_t *node)
{
    return ucs_container_of(node, predreg_transfer_t, node);
}

static int lands_earlier(const ucs_tree_node_t *node,
                         const ucs_tree_node_t *other)
{
    return node_transfer(node)->lands < node_transfer(other)->lands;
}

/* The tree of transfers needs no sums: the only search is for the transfer that lands
 * first */
static int no_sum(ucs_tree_node_t *node)
{
    return 0;
}

void predreg_transfers_init(predreg_transfers_t *transfers,
                            predreg_account_t *account, predreg_world_t *world)
{
    transfers->account = account;
    transfers->world   = world;
    ucs_tree_init(&transfers->tree, lands_earlier, no_sum);
}

/* Compute when the oldest piece lands, which is when all bytes up to its end have moved.
 * The last piece lands at the end of the use. */
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

/* Register the next piece of the remaining data, if there is room.
 * @return whether another piece may follow. */
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

    predreg_world_set_fresh(transfers->world,
                            use->fresh * ((double)ucs_min(left, transfer->super.piece) /
                                          use->length));
    status = ucs_rcache_pred_piece_reg(&transfer->super, transfer->next, left,
                                       use->flags, piece);
    predreg_world_set_fresh(transfers->world, 0);
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

/* Release the oldest piece */
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
    ucs_tree_insert(&transfers->tree, &transfer->node);
    return transfer->begun;
}

/* @return the transfer whose oldest piece lands first, or NULL. */
static predreg_transfer_t *first_to_land(const predreg_transfers_t *transfers)
{
    ucs_tree_node_t *node;

    node = ucs_tree_first(transfers->tree.root);
    return (node == NULL) ? NULL : node_transfer(node);
}

uint64_t predreg_transfers_next(const predreg_transfers_t *transfers)
{
    const predreg_transfer_t *transfer = first_to_land(transfers);

    return (transfer == NULL) ? UINT64_MAX : transfer->lands;
}

void predreg_transfers_land(predreg_transfers_t *transfers)
{
    predreg_transfer_t *transfer = first_to_land(transfers);

    release_piece(transfers, transfer);
    add_piece(transfers, transfer);
    ucs_tree_remove(&transfers->tree, &transfer->node);
    set_landing(transfer);
    ucs_tree_insert(&transfers->tree, &transfer->node);
}

void predreg_transfer_end(predreg_transfers_t *transfers,
                          predreg_transfer_t *transfer)
{
    ucs_tree_remove(&transfers->tree, &transfer->node);
    ucs_rcache_pred_end_in_pieces(&transfer->super);
    while (transfer->num_pieces > 0) {
        release_piece(transfers, transfer);
    }
}
