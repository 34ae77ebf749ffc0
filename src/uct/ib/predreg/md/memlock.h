/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_MEMLOCK_H_
#define UCT_PREDREG_MEMLOCK_H_

#include <ucs/base/mutex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

/** @file memlock.h
 *
 * The limit of locked memory of the process, and the part of it taken by foreign
 * registrations: by UCX for itself, not by the cache. The module only counts; foreign.c
 * changes the counts and tells others of the change.
 *
 * Uses nothing of the core. Thread safe; the functions may block.
 */

/** The questions to the system. */
typedef struct uct_predreg_memlock_sys {
    /** @return whether the process has CAP_IPC_LOCK, in the first user name space. */
    int (*may_lock_anything)(void);

    /** Do as getrlimit(RLIMIT_MEMLOCK, limit). */
    int (*get_limit)(struct rlimit *limit);
} uct_predreg_memlock_sys_t;

/** The system of the process. */
extern const uct_predreg_memlock_sys_t uct_predreg_memlock_linux;


typedef struct uct_predreg_memlock {
    const uct_predreg_memlock_sys_t *sys;       /**< Constant */

    /** Protects the fields below. No other lock is taken under it. */
    ucs_mutex_t                     lock;
    uint64_t                        bytes;      /**< Bytes of all pages of foreign
                                                     registrations */
    uint64_t                        pool_now;   /**< Bytes of UCX's pools now */
    uint64_t                        pool_peak;  /**< The largest pool_now so
                                                     far */
} uct_predreg_memlock_t;

/** Initialises a static variable. */
#define UCT_PREDREG_MEMLOCK_INITIALIZER(_sys) \
    { \
        .sys  = (_sys), \
        .lock = UCS_MUTEX_INITIALIZER(UCS_RANK_MEMLOCK) \
    }


/**
 * Forget all registrations in a forked child: the parent's do not count there. The child
 * has no other thread, and the lock may have been held at the fork.
 */
void uct_predreg_memlock_reset(uct_predreg_memlock_t *memlock);

/**
 * @return the number of bytes that the process may lock, or UINT64_MAX if there is no
 * limit. The kernel holds registrations to RLIMIT_MEMLOCK (Linux, ib_umem_get()) unless
 * the process has CAP_IPC_LOCK in the first user name space.
 */
uint64_t uct_predreg_memlock_limit(const uct_predreg_memlock_t *memlock);

/**
 * Find the bound on the cache's registrations.
 *
 * @param [in] max_pinned  The user's bound, bytes; UINT64_MAX: none.
 * @return the user's bound, or what the limit leaves beside the foreign
 *         registrations, whichever is less. If the limit leaves less than
 *         UCS_RCACHE_PRED_MIN_BYTES, that many bytes are returned instead,
 *         since nothing works with less; the kernel then refuses what is too
 *         much.
 */
uint64_t uct_predreg_memlock_bound(uct_predreg_memlock_t *memlock,
                                   uint64_t max_pinned);

/** Count memory that UCX has registered for itself, which counts against the limit.
 *  @param [in] bytes  Of all its pages.
 *  @param [in] pool   How many bytes count as a pool as well, until they are removed. */
void uct_predreg_memlock_add(uct_predreg_memlock_t *memlock, uint64_t bytes, size_t pool);

/** Stop counting memory that was added. */
void uct_predreg_memlock_remove(uct_predreg_memlock_t *memlock, uint64_t bytes,
                                size_t pool);

/** Count a pool of so many bytes, registered through UCX's own cache. UCX's cache decides
 *  when to deregister the pool, so the pool counts for good, and never against the
 *  limit. */
void uct_predreg_memlock_add_pool(uct_predreg_memlock_t *memlock,
                                  size_t length);

/** @return the most bytes that UCX's pools had registered at a time. */
uint64_t uct_predreg_memlock_pool_peak(uct_predreg_memlock_t *memlock);

#endif
