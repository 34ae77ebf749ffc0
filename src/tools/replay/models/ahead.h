/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_AHEAD_H_
#define PREDREG_AHEAD_H_

#include <tools/replay/account/account.h>
#include <tools/replay/program/cost.h>

#include <ucs/datastruct/list.h>

BEGIN_C_DECLS

/** @file ahead.h
 *
 * Regions that somebody beside the program registers ahead of their uses and
 * deregisters after them, any number of operations at a time. Regions are thus
 * independent of each other, and what has become of one is found out when it is
 * looked at. Called by the policy periodicity, which decides what is to be
 * done.
 *
 * Times are those of the program, ns.
 */

typedef enum {
    PREDREG_AHEAD_IDLE,        /**< Not registered, and not to be */
    PREDREG_AHEAD_PLANNED,     /**< Is to be registered at reg_at */
    PREDREG_AHEAD_REGISTERING, /**< Until ready_at */
    PREDREG_AHEAD_READY,       /**< Registered until it is used, or until
                                    expiry */
    PREDREG_AHEAD_USED
} predreg_ahead_state_t;

/** A region. The caller sets where it is; all else begins as 0. */
typedef struct predreg_ahead_region {
    uint64_t              address;
    uint64_t              length;
    predreg_ahead_state_t state;
    uint64_t              reg_at;
    uint64_t              ready_at;
    uint64_t              expiry;   /**< If no use has come by then, the region
                                         is given up */
    int                   is_ahead; /**< It is registered for a use that has not
                                         come yet */
    predreg_holding_t     holding;
    ucs_list_link_t       active;   /**< In active, unless idle */
} predreg_ahead_region_t;

typedef struct predreg_ahead {
    predreg_account_t *account;
    predreg_cost_t    reg;
    predreg_cost_t    dereg;
    ucs_list_link_t   active;   /**< Regions that are not idle */
    ucs_list_link_t   closings; /**< Deregistrations under way, in the order in
                                     which they began */
    uint64_t          busy;     /**< Time of all operations ahead or after a
                                     use, ns */
    uint64_t          wasted;   /**< Registrations ahead of a use that did not
                                     come */
    ucs_status_t      status;   /**< UCS_ERR_NO_MEMORY: an operation is
                                     missing */
} predreg_ahead_t;


/** Set the account and the costs first; all else must be 0. */
void predreg_ahead_init(predreg_ahead_t *ahead);

/** Release what deregistrations under way hold. Regions are the caller's. */
void predreg_ahead_cleanup(predreg_ahead_t *ahead);

/** @return what it takes to register (deregister) a region, ns. */
uint64_t predreg_ahead_reg_cost(const predreg_ahead_t *ahead,
                                const predreg_ahead_region_t *region);
uint64_t predreg_ahead_dereg_cost(const predreg_ahead_t *ahead,
                                  const predreg_ahead_region_t *region);

/** Close the deregistrations that have ended by now. */
void predreg_ahead_close_ended(predreg_ahead_t *ahead, uint64_t now);

/** Do what has been planned for a region and is due.
 *  @return whether the region has been given up for lack of a use. */
int predreg_ahead_update(predreg_ahead_t *ahead, predreg_ahead_region_t *region,
                         uint64_t now);

/** The region is to be used: the program waits until it is registered, and
 *  registers it if nobody does. It has been updated.
 *  @return when it is registered, ns. */
uint64_t predreg_ahead_prepare(predreg_ahead_t *ahead,
                               predreg_ahead_region_t *region, uint64_t now);

/** A use of a region that is registered begins now. */
void predreg_ahead_use(predreg_ahead_t *ahead, predreg_ahead_region_t *region,
                       predreg_site_t *site, uint64_t now);

/** A region that is not used any more is deregistered now, and is to be
 *  registered again at reg_at. */
void predreg_ahead_plan(predreg_ahead_t *ahead, predreg_ahead_region_t *region,
                        uint64_t now, uint64_t reg_at);

/** A region that is not used any more stays registered until its expiry. */
void predreg_ahead_keep(predreg_ahead_t *ahead, predreg_ahead_region_t *region);

/** Deregister a region, at a time that may have passed. What follows is as if
 *  it had been idle from then on. */
void predreg_ahead_dereg(predreg_ahead_t *ahead, predreg_ahead_region_t *region,
                         uint64_t time);

/** The memory of a region that has been updated goes away: nothing that is
 *  planned for it happens. One in use stays until its uses have ended. */
void predreg_ahead_unmap(predreg_ahead_t *ahead, predreg_ahead_region_t *region,
                         uint64_t now);

/** The program has ended: what is still registered, or being deregistered, goes
 *  to the account. All regions have been updated. */
void predreg_ahead_finish(predreg_ahead_t *ahead, uint64_t now);

END_C_DECLS

#endif
