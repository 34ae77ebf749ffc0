/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_UCX_DEREG_H_
#define PREDREG_UCX_DEREG_H_

#include "ucx_regions.h"

BEGIN_C_DECLS

/** @file ucx_dereg.h
 *
 * Deregisters regions of UCX's registration caches, by the program, which waits
 * for it, or by UCX's asynchronous thread, and enters both into the account.
 * ucx_cache.c calls these functions.
 *
 * Times are those of the program, ns.
 */

typedef struct predreg_ucx_dereg {
    predreg_account_t *account;
    predreg_cost_t    cost;
    ucs_list_link_t   cleaned;  /**< Regions that the asynchronous thread
                                     deregisters, in that order */
    uint64_t          cleaning; /**< When it is done with that */
} predreg_ucx_dereg_t;


/** @param [in] cost  Of deregistrations. */
void predreg_ucx_dereg_init(predreg_ucx_dereg_t *dereg,
                            predreg_account_t *account,
                            const predreg_cost_t *cost);

/** Let the program deregister a region that no use finds any more, and free
 *  it.
 *  @return when the program goes on. */
uint64_t predreg_ucx_dereg_region(predreg_ucx_dereg_t *dereg,
                                  predreg_ucx_region_t *region, uint64_t now);

/** Let the asynchronous thread deregister all regions of a cache that were
 *  unmapped, as soon as it is done with those that it was given before. */
void predreg_ucx_dereg_clean(predreg_ucx_dereg_t *dereg,
                             predreg_ucx_regions_t *regions, uint64_t now);

/** The program needs the lock of a cache: let it wait until the asynchronous
 *  thread has deregistered all regions that it was given.
 *  @return when the program goes on. */
uint64_t predreg_ucx_dereg_wait(predreg_ucx_dereg_t *dereg, uint64_t now);

/** Enter into the account what the asynchronous thread has deregistered, up to
 *  this time at which it is done, or the program ends, and free the regions
 *  that it was given. */
void predreg_ucx_dereg_finish(predreg_ucx_dereg_t *dereg, uint64_t now);

END_C_DECLS

#endif
