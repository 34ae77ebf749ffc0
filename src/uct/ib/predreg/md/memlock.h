/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_MEMLOCK_H_
#define UCT_PREDREG_MEMLOCK_H_

#include <ucs/datastruct/list.h>

#include <uct/api/uct.h>

#include <pthread.h>
#include <sys/resource.h>

/** @file memlock.h
 *
 * How much memory the system lets this process lock, and how much of it is
 * taken by registrations that are not of the cache: foreign ones, UCX's own. It
 * only counts; who changes the counts tells others of it (foreign.h).
 *
 * It uses nothing of the core. Thread safe, but may block.
 */

/** What is asked of the system. */
typedef struct uct_predreg_memlock_sys {
    /** Whether the process has CAP_IPC_LOCK. */
    int (*may_lock_anything)(void);

    /** As getrlimit(RLIMIT_MEMLOCK, limit). */
    int (*get_limit)(struct rlimit *limit);
} uct_predreg_memlock_sys_t;

/** The system that this process runs on. */
extern const uct_predreg_memlock_sys_t uct_predreg_memlock_linux;


typedef struct uct_predreg_memlock {
    const uct_predreg_memlock_sys_t *sys;       /**< Constant */

    /** Of what follows. No other lock is taken while it is held. */
    pthread_mutex_t                 lock;
    ucs_list_link_t                 foreign;    /**< Registrations */
    uint64_t                        bytes;      /**< Of their pages */
    uint64_t                        pool_now;   /**< Bytes of UCX's pools */
    uint64_t                        pool_peak;  /**< Most of pool_now so far */
} uct_predreg_memlock_t;

/** Initialises a static variable of that name. */
#define UCT_PREDREG_MEMLOCK_INITIALIZER(_name, _sys) \
    { \
        .sys     = (_sys), \
        .lock    = PTHREAD_MUTEX_INITIALIZER, \
        .foreign = UCS_LIST_INITIALIZER(&(_name).foreign, &(_name).foreign) \
    }


/**
 * Forget all registrations, in a forked child: those of the parent count for
 * nothing here. There is no other thread, and the lock may be held. What was
 * allocated is not freed, because a thread that only the parent has may have
 * been in the allocator.
 */
void uct_predreg_memlock_reset(uct_predreg_memlock_t *memlock);

/**
 * Bytes this process may lock, or UINT64_MAX: RLIMIT_MEMLOCK, which the kernel
 * holds registrations to (Linux, ib_umem_get()) unless the process has
 * CAP_IPC_LOCK.
 */
uint64_t uct_predreg_memlock_limit(const uct_predreg_memlock_t *memlock);

/**
 * The bound on the cache's registrations.
 *
 * @param [in] max_pinned  The user's bound, bytes; UINT64_MAX: none.
 * @return that, or what the limit leaves beside the foreign registrations, if
 *         it is less; but at least UCS_RCACHE_PRED_MIN_BYTES of what the limit
 *         leaves, since nothing works with less: the kernel says so then.
 */
uint64_t uct_predreg_memlock_bound(uct_predreg_memlock_t *memlock,
                                   uint64_t max_pinned);

/**
 * UCX has registered memory of its own, which counts against the limit.
 *
 * @param [in] is_pool  It is counted as a pool, too, until it is removed.
 * @return UCS_ERR_NO_MEMORY: it is not counted here, only by the kernel.
 */
ucs_status_t uct_predreg_memlock_add(uct_predreg_memlock_t *memlock,
                                     uct_mem_h memh, void *address,
                                     size_t length, int is_pool);

/** A handle was deregistered. @return UCS_ERR_NO_ELEM if it was not added. */
ucs_status_t uct_predreg_memlock_remove(uct_predreg_memlock_t *memlock,
                                        uct_mem_h memh);

/** UCX has registered a pool of so many bytes, through its own cache, which
 *  decides when it is deregistered. It counts as a pool for good, and not
 *  against the limit. */
void uct_predreg_memlock_add_pool(uct_predreg_memlock_t *memlock,
                                  size_t length);

/** The most bytes that UCX's pools had registered at a time. */
uint64_t uct_predreg_memlock_pool_peak(uct_predreg_memlock_t *memlock);

#endif
