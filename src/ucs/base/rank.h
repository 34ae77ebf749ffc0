/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RANK_H_
#define UCS_RANK_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file rank.h
 *
 * The order in which locks are taken. Each lock has a rank, and a thread that
 * waits for a lock has only locks of lower ranks. docs/design/locks.md says of
 * each rank what is held when it is taken, and contrib/check.sh structure
 * compares that list with this one.
 *
 * Builds for debugging (configure --enable-debug, --enable-sanitize) look at each
 * wait whether it keeps to the order, and end the process where one does not.
 * Others contain nothing of that.
 */

/* From the first that is taken to the last. Those after HOOK are taken in hooks of
 * memory, and so in handlers of signals: nothing is allocated or freed under
 * them. */
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
    _rank(WATCHED) \
    _rank(KEPT) \
    _rank(MEMLOCK) \
    _rank(FH_BOUND) \
    _rank(IFACES) \
    _rank(ZCOPY) \
    _rank(SENDERS) \
    _rank(REUSE_TABLE) \
    _rank(REUSE_SLOTS) \
    _rank(PLACES) \
    _rank(TRACE) \
    _rank(FH_RELEASE) \
    _rank(HOOK) \
    _rank(CACHE) \
    _rank(ARENA) \
    _rank(FH_REGISTRY)

/** Ranks of locks. HOOK is none of a lock: see @ref ucs_rank_take. */
typedef enum ucs_rank {
    UCS_RANK_NONE, /* Of no lock: what is not initialised has it */
#define UCS_RANK_VALUE(_name) UCS_RANK_##_name,
    UCS_RANKS(UCS_RANK_VALUE)
#undef UCS_RANK_VALUE
    UCS_RANK_LAST
} ucs_rank_t;

/** How a lock is taken. */
typedef enum ucs_rank_how {
    UCS_RANK_WAIT,  /**< This thread waits for it */
    UCS_RANK_AGAIN, /**< It waits unless it has the lock already */
    UCS_RANK_TRY    /**< It does not wait: in any order */
} ucs_rank_how_t;

#if UCS_ASSERT_RANKS

/* Most locks that a thread has at a time */
#define UCS_RANK_MAX_HELD 32

/** A lock that a thread has. Volatile: handlers of signals take locks as well, and
 * give them back before they return. They find a place that is not written yet with
 * the rank NONE. */
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
 * The account of this thread that is in libuct_predreg.so. All libraries of a
 * process have this one, so that their locks are compared with each other: core,
 * windows and Firehose are linked with rank.c each. A weak reference: where
 * libuct_predreg.so is not preloaded, it is NULL, and each has an account of its own.
 */
ucs_rank_account_t *predreg_rank_account_1(void)
        __attribute__((visibility("default")));

/**
 * This thread takes a lock. Ends the process if that is out of order, as it is of two
 * locks of a rank. In hooks and handlers of signals too.
 *
 * A hook of memory takes the rank HOOK, by UCS_RANK_TRY, while it runs: it must not
 * wait for a lock of a lower rank, since the thread may have any lock under which
 * memory is freed.
 *
 * @param [in] lock  Any address that stands for the lock.
 */
void ucs_rank_take(ucs_rank_t rank, const void *lock, ucs_rank_how_t how);

/** This thread gives a lock back, in any order. */
void ucs_rank_drop(const void *lock);

/** This thread is about to wait for whatever others do that have locks of a rank,
 *  or of higher ones: it must have none of them. */
void ucs_rank_check(ucs_rank_t rank);

/** In a forked child, whose locks are made anew: this thread has none of them. */
void ucs_rank_forget(void);

#else

static UCS_F_ALWAYS_INLINE void
ucs_rank_take(ucs_rank_t rank, const void *lock, ucs_rank_how_t how)
{
}

static UCS_F_ALWAYS_INLINE void ucs_rank_drop(const void *lock)
{
}

static UCS_F_ALWAYS_INLINE void ucs_rank_check(ucs_rank_t rank)
{
}

static UCS_F_ALWAYS_INLINE void ucs_rank_forget(void)
{
}

#endif

END_C_DECLS

#endif
