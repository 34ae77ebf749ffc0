/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_MEMLOCK_H_
#define UCT_PREDREG_MEMLOCK_H_

#include <stdatomic.h>
#include <stdint.h>
#include <sys/resource.h>

/** @file memlock.h
 *
 * The limit of locked memory of the process, and the part of the limit that foreign
 * registrations take: registrations that UCX makes for itself, past the cache. foreign.c
 * counts them.
 *
 * Uses nothing of the core. Thread safe.
 */

/** What this file asks the system. */
typedef struct uct_predreg_memlock_sys {
    /** @return whether the process has CAP_IPC_LOCK, in the first user name space. */
    int (*may_lock_anything)(void);

    /** Do as getrlimit(RLIMIT_MEMLOCK, limit). */
    int (*get_limit)(struct rlimit *limit);
} uct_predreg_memlock_sys_t;

/** The answers of Linux about this process. */
extern const uct_predreg_memlock_sys_t uct_predreg_memlock_linux;


typedef struct uct_predreg_memlock {
    const uct_predreg_memlock_sys_t *sys;   /**< Constant */
    /** Bytes of all pages of foreign registrations. Relaxed: the number guards no other
     *  data. A forked child begins with 0: its parent's registrations do not count. */
    _Atomic(uint64_t)               bytes;
} uct_predreg_memlock_t;


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

#endif
