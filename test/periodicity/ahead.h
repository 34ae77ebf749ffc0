/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_AHEAD_H_
#define PREDREG_AHEAD_H_

#include "overlap.h"

#include <tools/replay/account/account.h>
#include <tools/replay/program/costs.h>

#include <ucs/datastruct/list.h>

BEGIN_C_DECLS

/** @file ahead.h
 *
 * Plays regions that are registered ahead of their uses, and deregistered after
 * them, beside the program, any number of operations at a time. So regions do
 * not depend on each other, and the state of a region is only brought up to
 * date when it is needed. periodicity.c calls these functions, and
 * decides what is to be done.
 *
 * Times are those of the program, ns.
 */

typedef enum {
    PREDREG_AHEAD_IDLE,        /**< Not registered, and no registration is
                                    planned */
    PREDREG_AHEAD_PLANNED,     /**< To be registered at reg_at */
    PREDREG_AHEAD_REGISTERING, /**< Being registered until ready_at */
    PREDREG_AHEAD_READY,       /**< Registered until it is used, or until
                                    expiry */
    PREDREG_AHEAD_USED
} predreg_ahead_state_t;

/** A region. The caller sets its address, length and buffer; all other fields
 *  have to be 0. */
typedef struct predreg_ahead_region {
    uint64_t              address;
    uint64_t              length;
    size_t                buffer;   /**< Its number in the index of buffers, or
                                         PREDREG_OVERLAP_NONE: an unmap does
                                         not find it */
    predreg_ahead_state_t state;
    uint64_t              reg_at;
    uint64_t              ready_at;
    uint64_t              expiry;   /**< If no use has come by then, the region
                                         is given up */
    int                   is_ahead; /**< Whether it is registered for a use that
                                         has not come yet */
    predreg_holding_t     holding;
    ucs_list_link_t       active;   /**< In the list active, unless it is
                                         idle */
    uint64_t              order;    /**< Its place in that list: numbers rise
                                         from the head to the tail */
} predreg_ahead_region_t;

typedef struct predreg_ahead {
    predreg_account_t *account;
    predreg_cost_t    reg;
    predreg_cost_t    dereg;
    predreg_overlap_t *index;   /**< Has those regions switched on that are not
                                     idle */
    ucs_list_link_t   active;   /**< Regions that are not idle */
    uint64_t          last;     /**< The order of the last one in that list */
    ucs_list_link_t   closings; /**< Deregistrations under way, in the order in
                                     which they began */
    uint64_t          busy;     /**< How long all operations ahead of uses and
                                     after them took, ns */
    uint64_t          wasted;   /**< How many registrations were ahead of a use
                                     that did not come */
    ucs_status_t      status;   /**< UCS_ERR_NO_MEMORY if there was no memory
                                     for an operation */
} predreg_ahead_t;


/** Initialise the lists. The caller has set the account, the costs and the
 *  index, and all other fields to 0. */
void predreg_ahead_init(predreg_ahead_t *ahead);

/** Free the deregistrations under way. The regions belong to the caller. */
void predreg_ahead_cleanup(predreg_ahead_t *ahead);

/** @return how long it takes to register, or to deregister, a region, ns. */
uint64_t predreg_ahead_reg_cost(const predreg_ahead_t *ahead,
                                const predreg_ahead_region_t *region);
uint64_t predreg_ahead_dereg_cost(const predreg_ahead_t *ahead,
                                  const predreg_ahead_region_t *region);

/** Close the deregistrations that have ended by now. */
void predreg_ahead_close_ended(predreg_ahead_t *ahead, uint64_t now);

/** Do what was planned for a region and is due by now.
 *  @return whether the region has been given up for lack of a use. */
int predreg_ahead_update(predreg_ahead_t *ahead, predreg_ahead_region_t *region,
                         uint64_t now);

/** Prepare a region, which has been updated, for a use: the program waits
 *  until it is registered, or registers it itself if no registration is under
 *  way.
 *  @return when it is registered, ns. */
uint64_t predreg_ahead_prepare(predreg_ahead_t *ahead,
                               predreg_ahead_region_t *region, uint64_t now);

/** Begin a use of a region that is registered. */
void predreg_ahead_use(predreg_ahead_t *ahead, predreg_ahead_region_t *region,
                       predreg_site_t *site, uint64_t now);

/** Deregister a region that is not in use any more, and plan to register it
 *  again at reg_at. */
void predreg_ahead_plan(predreg_ahead_t *ahead, predreg_ahead_region_t *region,
                        uint64_t now, uint64_t reg_at);

/** Keep a region that is not in use any more registered until its expiry. */
void predreg_ahead_keep(predreg_ahead_t *ahead, predreg_ahead_region_t *region);

/** Deregister a region at a time that may be in the past, or, if it is being
 *  registered, when that is complete. Afterwards the region is as if it had
 *  been idle since then. */
void predreg_ahead_dereg(predreg_ahead_t *ahead, predreg_ahead_region_t *region,
                         uint64_t time);

/** The memory of a region, which has been updated, is unmapped: drop all that
 *  is planned for it. A region in use stays registered until its uses have
 *  ended. */
void predreg_ahead_unmap(predreg_ahead_t *ahead, predreg_ahead_region_t *region,
                         uint64_t now);

/** Take a region out of the index: no unmap finds it any more. */
void predreg_ahead_forget(predreg_ahead_t *ahead,
                          predreg_ahead_region_t *region);

/** The program has ended: enter the regions that are still registered, or being
 *  deregistered, into the account. All regions have been updated. */
void predreg_ahead_finish(predreg_ahead_t *ahead, uint64_t now);

END_C_DECLS

#endif
