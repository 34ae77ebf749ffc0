/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_MEMLOCK_H_
#define UCT_PREDREG_MEMLOCK_H_

#include <uct/api/uct.h>

/** @file memlock.h
 *
 * How much memory this process may have registered: the user's bound, and what
 * the system lets it lock less what UCX has registered for itself. Thread safe,
 * but may block.
 */

/**
 * Bytes this process may lock, or UINT64_MAX: RLIMIT_MEMLOCK, which the kernel
 * holds registrations to (Linux, ib_umem_get()) unless the process has
 * CAP_IPC_LOCK.
 */
uint64_t uct_predreg_memlock_limit(void);

/** The bound for user buffers, given what UCX has registered. */
uint64_t uct_predreg_max_bytes(void);

/**
 * UCX has registered a pool, bytes. It counts for good: for where UCX's own
 * cache decides when it is deregistered.
 */
void uct_predreg_pool_add(size_t length);

/**
 * UCX has registered memory of its own that counts against the limit.
 *
 * @param [in] is_pool  It is counted as a pool until it is removed.
 */
void uct_predreg_foreign_add(uct_mem_h memh, void *address, size_t length,
                             int is_pool);

/** A handle that is not ours was deregistered. */
void uct_predreg_foreign_remove(uct_mem_h memh);

/** In a forked child: the parent's count for nothing here. */
void uct_predreg_foreign_reset(void);

#endif
