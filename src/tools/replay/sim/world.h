/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_WORLD_H_
#define PREDREG_WORLD_H_

#include "sim.h"

#include <tools/replay/account/account.h>

BEGIN_C_DECLS

/** @file world.h
 *
 * The outside world of a cache that is replayed: a virtual clock, memory that
 * is registered by letting time pass, and two flows of time, the program's and
 * the helper's. The caller of all functions is the program; it is the only one
 * who moves the clock on, and the helper runs wherever its time comes first.
 *
 * If the program and the helper have something to do at the same time, the
 * helper comes first.
 */

typedef struct predreg_world predreg_world_t;

/** Operations for a cache, with the world as argument, also of domains. */
extern const ucs_rcache_pred_ops_t predreg_world_ops;


/** A world whose clock stands at 0 of the account's time, without a helper.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_world_create(const predreg_sim_params_t *params,
                                  predreg_account_t *account,
                                  predreg_world_t **world_p);

/** The cache must have been destroyed. */
void predreg_world_destroy(predreg_world_t *world);

/** Begin a second flow of time: a helper, which looks after the cache from now
 *  on.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_world_start_helper(predreg_world_t *world,
                                        ucs_rcache_pred_t *pred);

/** The program's time, ns, as the account has it. */
uint64_t predreg_world_now(const predreg_world_t *world);

/** The program does something that is no concern of the cache until this time,
 *  ns; the helper does meanwhile what it has to. */
void predreg_world_advance(predreg_world_t *world, uint64_t until);

/** What is registered with a handle. Valid until the clock moves on. */
predreg_holding_t *predreg_world_holding(predreg_world_t *world, void *memh);

/**
 * The program is over: what is still registered goes to the account as it is
 * now. From here on nothing takes time or is accounted for. The helper is let
 * out of the cache, and stands still.
 *
 * @param [out] helper_p  Time the helper spent on registrations and
 *                        deregistrations, ns.
 * @return UCS_ERR_NO_MEMORY if there was none for what is registered.
 */
ucs_status_t predreg_world_finish(predreg_world_t *world, uint64_t *helper_p);

END_C_DECLS

#endif
