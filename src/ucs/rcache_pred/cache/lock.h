/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_LOCK_H_
#define UCS_RCACHE_PRED_LOCK_H_

#include "state.h"

/** @file lock.h
 *
 * The variable of the cache's lock, and how threads wait for each other. Callers take the
 * lock by pred_lock() in cache.h, which closes the lanes as well.
 */

/** Let other threads run, since this thread waits for one of them. Returns after
 *  some 50 us at most, and the caller calls it again until it need not wait any
 *  more. Without the lock. */
void pred_give_way(ucs_rcache_pred_t *pred);

/** Take one step of a wait for another thread: at first spin, later let other threads run
 *  now and then, and in the end sleep for some 50 us.
 *  @param [in,out] spins  Number of steps so far; the caller sets it to 0 when the wait
 *                         begins. */
void pred_spin(ucs_rcache_pred_t *pred, unsigned *spins);

/** Wait for the lock, which another thread has, and take it. */
void pred_lock_wait(ucs_rcache_pred_t *pred);

/** Wait until a flag is 0. Another thread clears the flag soon. The reads are
 *  sequentially consistent. */
void pred_spin_while_busy(ucs_rcache_pred_t *pred, _Atomic(int) *busy);

/** Wait until nobody has the lock, without taking it. */
void pred_lock_wait_free(ucs_rcache_pred_t *pred);


/* A number that no other thread has. The compiler's builtin function reads a register;
 * pthread_self(), which serves without the builtin function, is a call of libc */
#if defined(__has_builtin) && (defined(__x86_64__) || defined(__aarch64__))
#  if __has_builtin(__builtin_thread_pointer)
#    define PRED_SELF() __builtin_thread_pointer()
#  endif
#endif
#ifndef PRED_SELF
#  define PRED_SELF() pthread_self()
#endif

/** @return the number of this thread, unique among threads, not 0. */
static inline uintptr_t pred_self(void)
{
    return (uintptr_t)PRED_SELF();
}

/** Take the lock if it is free. Sequentially consistent, since the owner
 *  then reads whether threads are in their lanes, see lanes.h; and acquire: pairs
 *  with the release in pred_unlock(). */
static inline int pred_lock_try(ucs_rcache_pred_t *pred)
{
    uintptr_t free = 0;

    return atomic_compare_exchange_strong_explicit(&pred->lock, &free,
                                                   pred_self(),
                                                   memory_order_seq_cst,
                                                   memory_order_relaxed);
}

/** @return whether this thread has the lock. Then the caller is a handler of a signal
 *          that has interrupted the owner, and must not wait for the lock. */
static inline int pred_lock_is_own(ucs_rcache_pred_t *pred)
{
    /* Relaxed: nobody else writes this number */
    return ucs_relaxed_load(&pred->lock) == pred_self();
}

/** As @ref pred_give_way; but if the user of the cache has handed in a function yield,
 *  call that function instead. */
static inline void pred_yield(ucs_rcache_pred_t *pred)
{
    if (pred->ops.yield != NULL) {
        pred->ops.yield(pred->params.arg);
    } else {
        pred_give_way(pred);
    }
}

/* deferred.c: an unmap by a thread with the lock, or by a handler of a signal that has
 * interrupted a thread in the cache. */

/** Let no use find a region in a range of whole pages. Under the lock.
 *  @return whether a region has become stale. Then the caller tells the helper. */
int pred_unmap(ucs_rcache_pred_t *pred,
               const ucs_rcache_pred_range_t *unmapped);

/** Have the next thread that takes the lock call pred_unmap() for a range. To be
 *  called by the handler of a signal that has interrupted the owner of the lock, or a
 *  thread in its lane. */
void pred_defer(ucs_rcache_pred_t *pred,
                const ucs_rcache_pred_range_t *unmapped);

/** Call pred_unmap() for all deferred ranges. Under the lock. */
void pred_catch_up(ucs_rcache_pred_t *pred);

#endif
