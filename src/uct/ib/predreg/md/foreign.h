/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_FOREIGN_H_
#define UCT_PREDREG_FOREIGN_H_

#include <uct/api/uct.h>

/** @file foreign.h
 *
 * What UCX registers for itself in managed domains: it is counted (memlock.h),
 * the cache's bound follows what the system leaves beside it, and the counters
 * that others see are published. Thread safe, but may block.
 */

/** The bound for user buffers, given what UCX has registered, bytes. */
uint64_t uct_predreg_max_bytes(void);

/** UCX has registered a pool of so many bytes in a domain that is only watched.
 *  It counts for good, since UCX's own cache decides when it goes. */
void uct_predreg_pool_add(size_t length);

/**
 * UCX has registered memory of its own in a managed domain.
 *
 * @param [in] is_pool  It is counted as a pool until it is removed.
 */
void uct_predreg_foreign_add(uct_mem_h memh, void *address, size_t length,
                             int is_pool);

/** A handle that is not of the cache was deregistered. */
void uct_predreg_foreign_remove(uct_mem_h memh);

/** In a forked child: the parent's count for nothing here. */
void uct_predreg_foreign_reset(void);

#endif
