/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_MUTEX_H_
#define UCS_MUTEX_H_

#include "rank.h"

#include <pthread.h>

BEGIN_C_DECLS

/** @file mutex.h
 *
 * A mutex that has a place in the order of locks, see rank.h. The library has no
 * others.
 */

/** A mutex. */
typedef struct ucs_mutex {
    pthread_mutex_t mutex;
#if UCS_ASSERT_RANKS
    ucs_rank_t      rank;  /* Constant */
    ucs_rank_how_t  how;   /* How lock() takes it. Constant */
#endif
} ucs_mutex_t;

#if UCS_ASSERT_RANKS
#define UCS_MUTEX_INITIALIZER(_rank) \
    {PTHREAD_MUTEX_INITIALIZER, _rank, UCS_RANK_WAIT}
#else
#define UCS_MUTEX_INITIALIZER(_rank) {PTHREAD_MUTEX_INITIALIZER}
#endif

/** What a mutex does besides. */
enum {
    UCS_MUTEX_LENDS     = 1 << 0, /**< A thread that waits for the mutex lends its
                                       priority to the one that has it, see
                                       @ref ucs_give_way. A pair of lock and
                                       unlock takes some 20 ns longer */
    UCS_MUTEX_RECURSIVE = 1 << 1  /**< A thread may take it several times. With
                                       UCS_MUTEX_LENDS only */
};

/** Make a mutex; also in a forked child, whatever state the mutex is in.
 *  @param [in] flags  UCS_MUTEX_x, or 0. */
void ucs_mutex_init(ucs_mutex_t *mutex, ucs_rank_t rank, unsigned flags);

/** Free what ucs_mutex_init() has made. No thread has the mutex. */
void ucs_mutex_destroy(ucs_mutex_t *mutex);

static UCS_F_ALWAYS_INLINE void ucs_mutex_lock(ucs_mutex_t *mutex)
{
#if UCS_ASSERT_RANKS
    ucs_rank_take(mutex->rank, mutex, mutex->how);
#endif
    pthread_mutex_lock(&mutex->mutex);
}

/** @return whether this thread has the mutex now. */
static UCS_F_ALWAYS_INLINE int ucs_mutex_trylock(ucs_mutex_t *mutex)
{
    if (pthread_mutex_trylock(&mutex->mutex) != 0) {
        return 0;
    }
#if UCS_ASSERT_RANKS
    ucs_rank_take(mutex->rank, mutex, UCS_RANK_TRY);
#endif
    return 1;
}

static UCS_F_ALWAYS_INLINE void ucs_mutex_unlock(ucs_mutex_t *mutex)
{
    pthread_mutex_unlock(&mutex->mutex);
#if UCS_ASSERT_RANKS
    ucs_rank_drop(mutex);
#endif
}

/** Wait for a condition. This thread does not have the mutex meanwhile, and has no
 *  lock of a higher rank. */
static UCS_F_ALWAYS_INLINE void
ucs_mutex_wait(ucs_mutex_t *mutex, pthread_cond_t *cond)
{
#if UCS_ASSERT_RANKS
    ucs_rank_drop(mutex);
    ucs_rank_take(mutex->rank, mutex, mutex->how);
#endif
    pthread_cond_wait(cond, &mutex->mutex);
}

END_C_DECLS

#endif
