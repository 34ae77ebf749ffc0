/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_FOREIGN_H_
#define UCT_PREDREG_FOREIGN_H_

#include "types.h"

#include <uct/api/uct.h>
#include <uct/ib/predreg/core/knobs.h>
#include <uct/ib/predreg/core/types.h>
#include <uct/ib/predreg/compat/uct_v2.h>

/** @file foreign.h
 *
 * Memory that UCX registers for itself in managed domains. These functions
 * count it (memlock.h), set the cache's bound to what the system leaves beside
 * it, and publish the live counters. They are thread safe, but may block.
 *
 * And memory that Firehose registers by way of UCX: it counts within the
 * bounds, as the arena does, and is no use of the cache.
 */

/** @return the bound of the cache beside what UCX has registered for itself,
 *  bytes. */
uint64_t uct_predreg_max_bytes(const uct_predreg_knobs_t *knobs);

/** @return whether there is any bound on what this process registers: one of the
 *          knobs, or the limit of locked memory. */
int uct_predreg_has_bounds(const uct_predreg_knobs_t *knobs);

/** @return whether the limit of locked memory may leave UCX's own pools no room
 *  to grow. */
int uct_predreg_pools_are_limited(void);

/** Count a pool of so many bytes, which UCX has registered in a domain that is
 *  only watched. The pool counts for good, since UCX's own cache decides when
 *  it is deregistered. */
void uct_predreg_pool_add(uct_predreg_core_t *core, size_t length);

/**
 * Count memory that UCX has registered for itself in a managed domain.
 *
 * @param [in] is_pool  Whether it counts as a pool until it is removed.
 */
void uct_predreg_foreign_add(uct_predreg_core_t *core, uct_mem_h memh,
                             void *address, size_t length, int is_pool);

/** Stop counting the memory of this handle, which was deregistered and is not
 *  one of the cache. */
void uct_predreg_foreign_remove(uct_predreg_core_t *core, uct_mem_h memh);

/** @param [in] domains  In so many managed domains each byte is registered. 0: in
 *                       all that there are.
 *  @return how many bytes the bounds of the process and of the node leave for
 *          that, if nothing else is registered, and other ranks of the job on the
 *          node take as much; UINT64_MAX: there are no bounds. */
uint64_t
uct_predreg_firehose_room(uct_predreg_core_t *core, unsigned domains);

/**
 * Register memory for Firehose in a managed domain, within the bounds: idle
 * regions of the cache give way.
 *
 * @return UCS_ERR_EXCEEDS_LIMIT if there is no room within the bounds,
 *         UCS_ERR_NO_MEMORY if the system has none, or another error of UCX;
 *         none is logged. Then nothing is registered.
 */
ucs_status_t uct_predreg_firehose_reg(uct_predreg_domain_t *domain,
                                      void *address, size_t length,
                                      unsigned flags, uct_mem_h *memh_p);

/** Deregister memory that was registered so, and give its room back.
 *
 *  @return what UCX does; UCS_ERR_NO_ELEM if the handle is not one of
 *  Firehose. */
ucs_status_t
uct_predreg_firehose_dereg(uct_predreg_domain_t *domain,
                           const uct_md_mem_dereg_params_t *params);

/** Forget all registrations in a forked child: the parent's do not count
 *  there. */
void uct_predreg_foreign_reset(void);

#endif
