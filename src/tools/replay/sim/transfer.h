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

#include <ucs/datastruct/list.h>

BEGIN_C_DECLS

/** @file transfer.h
 *
 * Uses in pieces, as transfers at a constant speed that last as long as the
 * use: so many pieces fly at a time, they land one after the other, and with
 * each that lands the next one is registered. Called by sim.c, whose world is
 * the clock.
 */

/** A transfer. The caller allocates it, all 0, and the cache begins its use in
 *  pieces on it. */
typedef struct predreg_transfer {
    ucs_rcache_pred_pieces_t super;
    const predreg_use_t      *use;
    predreg_site_t           *site;
    uint64_t                 begun;
    uint64_t                 next;   /**< Start of what is not registered yet */
    ucs_rcache_pred_piece_t  pieces[UCS_RCACHE_PRED_PIECES_IN_FLIGHT];
                                    /**< In flight, oldest first */
    unsigned                 num_pieces;
    uint64_t                 lands;  /**< When the oldest piece does;
                                          UINT64_MAX: when the use ends */
    ucs_list_link_t          link;   /**< In the transfers */
} predreg_transfer_t;

/** All transfers under way. */
typedef struct predreg_transfers {
    predreg_account_t *account;
    predreg_world_t   *world;
    ucs_list_link_t   list;    /**< By when their oldest piece lands */
} predreg_transfers_t;


/** There are no transfers yet. */
void predreg_transfers_init(predreg_transfers_t *transfers,
                            predreg_account_t *account, predreg_world_t *world);

/**
 * The use has begun: the program waits until the first piece is registered, and
 * the others are registered while it goes on.
 *
 * @return the time when the program goes on, ns.
 */
uint64_t predreg_transfer_begin(predreg_transfers_t *transfers,
                                predreg_transfer_t *transfer,
                                const predreg_use_t *use, predreg_site_t *site);

/** @return when the next piece of any transfer lands, ns; UINT64_MAX: never
 *          before a use ends. */
uint64_t predreg_transfers_next(predreg_transfers_t *transfers);

/** The next piece lands now. There must be one. */
void predreg_transfers_land(predreg_transfers_t *transfers);

/** The use ends, and the pieces that are still registered with it. The transfer
 *  is the caller's again. */
void predreg_transfer_end(predreg_transfers_t *transfers,
                          predreg_transfer_t *transfer);

END_C_DECLS

#endif
