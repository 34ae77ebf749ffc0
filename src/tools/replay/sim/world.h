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
 * the helper's. The program calls all of these functions. Only they move the
 * clock on, and they let the helper run whenever its time comes first.
 *
 * If the program and the helper have something to do at the same time, the
 * helper is first.
 */

typedef struct predreg_world predreg_world_t;

/** Operations for a cache, whose argument is the world, also that of
 *  domains. */
extern const ucs_rcache_pred_ops_t predreg_world_ops;


/** Make a world without a helper, whose clock stands at time 0 of the
 *  account.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_world_create(const predreg_sim_params_t *params,
                                  predreg_account_t *account,
                                  predreg_world_t **world_p);

/** Destroy a world. Its cache must have been destroyed before. */
void predreg_world_destroy(predreg_world_t *world);

/** Begin the second flow of time: the helper, which looks after the cache from
 *  now on.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_world_start_helper(predreg_world_t *world,
                                        ucs_rcache_pred_t *pred);

/** @return the present time of the program, ns, as the account counts it. */
uint64_t predreg_world_now(const predreg_world_t *world);

/** @return a time of the cache's clock, ns, as the account counts it; UINT64_MAX if it never
 *          comes. */
uint64_t predreg_world_time(ucs_rcache_pred_time_t time);

/** @return how long the helper has used the program's processor since the last
 *          call, ns; 0 if it has one of its own. */
uint64_t predreg_world_take_stolen(predreg_world_t *world);

/** Let the program do something without the cache until this time, ns.
 *  Meanwhile the helper does its work. */
void predreg_world_advance(predreg_world_t *world, uint64_t until);

/** @return the memory that is registered with a handle. The pointer is valid
 *  until the clock moves on. */
predreg_holding_t *predreg_world_holding(predreg_world_t *world, void *memh);

/**
 * End the program: memory that is still registered is entered into the account
 * as it is now. From here on nothing takes time or is entered. The helper
 * leaves the cache's code, and stands still.
 *
 * @param [out] helper_p  How long the helper spent on registrations and
 *                        deregistrations, ns.
 * @return UCS_ERR_NO_MEMORY if there was no memory to keep track of a
 *         registration.
 */
ucs_status_t predreg_world_finish(predreg_world_t *world, uint64_t *helper_p);

END_C_DECLS

#endif
