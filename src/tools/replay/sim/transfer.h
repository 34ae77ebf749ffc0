/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_SIM_TRANSFER_H_
#define PREDREG_SIM_TRANSFER_H_

#include "world.h"

#include <tools/replay/account/account.h>
#include <tools/replay/program/timeline.h>

#include <ucs/base/tree.h>

BEGIN_C_DECLS

/** @file transfer.h
 *
 * Plays uses in pieces as transfers at a constant speed, which last as long as
 * the use. Up to UCS_RCACHE_PRED_PIECES_IN_FLIGHT pieces are in flight at a
 * time and land one after the other; whenever one lands, the next one is
 * registered. sim.c calls these functions; its world is their clock.
 */

/** A transfer. The caller allocates it, with all fields 0, and has the cache
 *  begin a use in pieces with it. */
typedef struct predreg_transfer {
    ucs_rcache_pred_pieces_t    super;
    const predreg_use_t         *use;
    predreg_site_t              *site;
    uint64_t                    begun;
    uint64_t                    next; /**< Start of the data that no piece is
                                           registered for yet */
    ucs_rcache_pred_piece_t     pieces[UCS_RCACHE_PRED_PIECES_IN_FLIGHT];
                                      /**< Pieces in flight, oldest first */
    unsigned                    num_pieces;
    uint64_t                    lands; /**< When the oldest piece lands;
                                            UINT64_MAX: when the use ends */
    ucs_rcache_pred_tree_node_t node; /**< In the tree of transfers */
} predreg_transfer_t;

/** All transfers under way. */
typedef struct predreg_transfers {
    predreg_account_t      *account;
    predreg_world_t        *world;
    ucs_rcache_pred_tree_t tree;     /**< Sorted by when their oldest piece
                                          lands */
} predreg_transfers_t;


/** Begin without transfers. */
void predreg_transfers_init(predreg_transfers_t *transfers,
                            predreg_account_t *account, predreg_world_t *world);

/**
 * Begin the transfer of a use that has begun. The program waits until the first
 * piece is registered; the others are registered while it goes on.
 *
 * @return the time when the program goes on, ns.
 */
uint64_t predreg_transfer_begin(predreg_transfers_t *transfers,
                                predreg_transfer_t *transfer,
                                const predreg_use_t *use, predreg_site_t *site);

/** @return when the next piece of any transfer lands, ns; UINT64_MAX: no piece
 *  lands before its use ends. */
uint64_t predreg_transfers_next(const predreg_transfers_t *transfers);

/** Let the next piece land now. There must be one. */
void predreg_transfers_land(predreg_transfers_t *transfers);

/** End the transfer of a use that ends, and release the pieces that are still
 *  registered. The transfer belongs to the caller again. */
void predreg_transfer_end(predreg_transfers_t *transfers,
                          predreg_transfer_t *transfer);

END_C_DECLS

#endif
