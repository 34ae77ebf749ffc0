/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_MUTEX_H_
#define UCS_MUTEX_H_

#include <ucs/sys/compiler_def.h>

#include <pthread.h>

BEGIN_C_DECLS

/** @file mutex.h
 *
 * Mutexes, and the order of all locks. Each lock has a rank, and a thread that
 * waits for a lock has only locks of lower ranks. docs/design/locks.md lists for
 * each rank the locks that a thread may have then, and contrib/check.sh structure
 * compares that list with the one below. The library has no other mutexes.
 *
 * Builds for debugging (configure --enable-debug, --enable-sanitize) check the
 * order at each wait, and end the process on a violation. Other builds contain no
 * check.
 */

/* The ranks, in the order in which a thread takes locks. Hooks of memory, and so
 * handlers of signals, take the locks whose ranks come after HOOK: nothing is
 * allocated or freed under such a lock. */
#define UCS_RANKS(_rank) \
    _rank(WIN_START) \
    _rank(FH_WAYS) \
    _rank(FH_WORKERS) \
    _rank(FH_DRIVE) \
    _rank(FH_SEND) \
    _rank(WIN) \
    _rank(FH) \
    _rank(WIN_TICKETS) \
    _rank(WIN_MAP) \
    _rank(EAGER_CONTEXTS) \
    _rank(CORE) \
    _rank(HELPER) \
    _rank(ARENA_WORK) \
    _rank(ARENA_REGS) \
    _rank(DOMAIN) \
    _rank(OWNERS) \
    _rank(IFACES) \
    _rank(ZCOPY) \
    _rank(SENDERS) \
    _rank(REUSE_TABLE) \
    _rank(REUSE_SLOTS) \
    _rank(TRACE) \
    _rank(FH_RELEASE) \
    _rank(HOOK) \
    _rank(CACHE) \
    _rank(ARENA) \
    _rank(FH_REGISTRY)

/** Ranks of locks. HOOK is not the rank of a lock: see @ref ucs_rank_take. */
typedef enum ucs_rank {
    UCS_RANK_NONE, /* The rank of memory that was not made a lock */
#define UCS_RANK_VALUE(_name) UCS_RANK_##_name,
    UCS_RANKS(UCS_RANK_VALUE)
#undef UCS_RANK_VALUE
    UCS_RANK_LAST
} ucs_rank_t;

/** How a lock is taken. */
typedef enum ucs_rank_how {
    UCS_RANK_WAIT,  /**< The thread waits */
    UCS_RANK_AGAIN, /**< The thread waits unless it has the lock already */
    UCS_RANK_TRY    /**< The thread does not wait, so that any order will do */
} ucs_rank_how_t;

#if UCS_ASSERT_RANKS

/* Most locks that a thread has at a time */
#define UCS_RANK_MAX_HELD 32

/** A lock that a thread has. Volatile: a handler of a signal that interrupts
 *  the thread takes locks as well, and gives them back before returning. The
 *  handler may find an entry that the thread has not written yet: its rank is
 *  NONE. */
typedef struct ucs_rank_held {
    volatile ucs_rank_t  rank;
    const void *volatile lock;
} ucs_rank_held_t;

/** The locks that a thread has, of all libraries. */
typedef struct ucs_rank_account {
    ucs_rank_held_t   held[UCS_RANK_MAX_HELD];
    volatile unsigned num;
} ucs_rank_account_t;

/**
 * The account of this thread in libuct_predreg.so. All libraries of a process share
 * the account, so that their locks are compared with each other: core, windows and
 * Firehose are linked with mutex.c each. The other libraries refer to the
 * function weakly: without libuct_predreg.so its address is NULL, and each
 * library has an account of its own.
 */
ucs_rank_account_t *predreg_rank_account_1(void)
        __attribute__((visibility("default")));

/**
 * Note that this thread takes a lock. Ends the process if the lock is out of
 * order, or if the thread has another lock of the same rank. May be called in
 * hooks and in handlers of signals.
 *
 * A hook of memory takes the rank HOOK, by UCS_RANK_TRY, during its run, and must
 * not wait for a lock of a lower rank: the thread may have any lock under which
 * memory is freed.
 *
 * @param [in] lock  Any address that stands for the lock.
 */
void ucs_rank_take(ucs_rank_t rank, const void *lock, ucs_rank_how_t how);

/** Note that this thread gives a lock back. Locks may be given back in any
 *  order. */
void ucs_rank_drop(const void *lock);

/** Note that this thread is about to wait for threads that may have locks of a
 *  rank, or of higher ranks. Ends the process if this thread has a lock of such
 *  a rank. */
void ucs_rank_check(ucs_rank_t rank);

/** In a forked child, whose locks were made anew: note that the thread has no
 *  lock. */
void ucs_rank_forget(void);

#else

/* In builds without checks the functions are macros, which do not use their
 * arguments: a mutex has no rank there */
#define ucs_rank_take(_rank, _lock, _how) ((void)0)
#define ucs_rank_drop(_lock)              ((void)0)
#define ucs_rank_check(_rank)             ((void)0)
#define ucs_rank_forget()                 ((void)0)

#endif


/** A mutex. */
typedef struct ucs_mutex {
    pthread_mutex_t mutex;
#if UCS_ASSERT_RANKS
    ucs_rank_t      rank;  /* Constant */
    ucs_rank_how_t  how;   /* How ucs_mutex_lock() takes the mutex. Constant */
#endif
} ucs_mutex_t;

#if UCS_ASSERT_RANKS
#define UCS_MUTEX_INITIALIZER(_rank) \
    {PTHREAD_MUTEX_INITIALIZER, _rank, UCS_RANK_WAIT}
#else
#define UCS_MUTEX_INITIALIZER(_rank) {PTHREAD_MUTEX_INITIALIZER}
#endif

/** Flags of a mutex. */
enum {
    UCS_MUTEX_LENDS     = 1 << 0, /**< A waiting thread lends its priority to the
                                       owner, see @ref ucs_give_way. A pair of lock
                                       and unlock takes some 20 ns longer */
    UCS_MUTEX_RECURSIVE = 1 << 1  /**< A thread may lock the mutex again while
                                       it has the mutex. Only together with
                                       UCS_MUTEX_LENDS */
};

/** Make a mutex; also in a forked child, whatever state the mutex is in.
 *  @param [in] flags  UCS_MUTEX_x, or 0. */
void ucs_mutex_init(ucs_mutex_t *mutex, ucs_rank_t rank, unsigned flags);

/** Free what ucs_mutex_init() has made. No thread has the mutex. */
void ucs_mutex_destroy(ucs_mutex_t *mutex);

static UCS_F_ALWAYS_INLINE void ucs_mutex_lock(ucs_mutex_t *mutex)
{
    ucs_rank_take(mutex->rank, mutex, mutex->how);
    pthread_mutex_lock(&mutex->mutex);
}

/** @return whether this thread has the mutex now. */
static UCS_F_ALWAYS_INLINE int ucs_mutex_trylock(ucs_mutex_t *mutex)
{
    if (pthread_mutex_trylock(&mutex->mutex) != 0) {
        return 0;
    }

    ucs_rank_take(mutex->rank, mutex, UCS_RANK_TRY);
    return 1;
}

static UCS_F_ALWAYS_INLINE void ucs_mutex_unlock(ucs_mutex_t *mutex)
{
    pthread_mutex_unlock(&mutex->mutex);
    ucs_rank_drop(mutex);
}

/** Wait for a condition. This thread does not have the mutex meanwhile, and has no
 *  lock of a higher rank. */
static UCS_F_ALWAYS_INLINE void
ucs_mutex_wait(ucs_mutex_t *mutex, pthread_cond_t *cond)
{
    ucs_rank_drop(mutex);
    ucs_rank_take(mutex->rank, mutex, mutex->how);
    pthread_cond_wait(cond, &mutex->mutex);
}

END_C_DECLS

#endif
