/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "lock.h"

/*
 * How a thread waits for another one: for the lock, for a registration that is
 * under way, or for room that is being given back, see ucs/base/wait.h. Whoever
 * does a round of the helper's work holds helper_mutex, so that a thread of a
 * real-time class lends its priority to whoever does the round. The lock of the
 * cache is not such a mutex itself, since that would cost 20 ns more for each
 * pair of lock and unlock, and a use needs two pairs.
 */


/* A thread that found the lock taken, or a lane, looks so many times before it lets others
 * run, which takes some 30 us (AMD EPYC). The lock is held for less, unless the
 * thread that has it was set aside. */
#define LOCK_SPINS 1000

/* After it has let others run so many times, it sleeps each time. Whoever lends
 * this thread a real-time priority by helper_mutex, the thread does not know of
 * it: what it waits for may be a thread without that priority, which no
 * sched_yield() of this one lets run. */
#define LOCK_YIELDS 16


void pred_give_way(ucs_rcache_pred_t *pred)
{
    ucs_give_way(&pred->helper_mutex);
}

/* Tell the processor that this thread spins */
static inline void spin_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

void pred_spin(ucs_rcache_pred_t *pred, unsigned *spins)
{
    if (*spins >= LOCK_SPINS * LOCK_YIELDS) {
        ucs_sleep_shortly();
    } else if (++*spins % LOCK_SPINS == 0) {
        pred_give_way(pred);
    } else {
        spin_relax();
    }
}

void pred_lock_wait_free(ucs_rcache_pred_t *pred)
{
    unsigned spins = 0;

    /* Relaxed: entering the lane, or taking the lock, orders what follows */
    while (atomic_load_explicit(&pred->lock, memory_order_relaxed)) {
        pred_spin(pred, &spins);
    }
}

void pred_lock_wait(ucs_rcache_pred_t *pred)
{
    do {
        pred_lock_wait_free(pred);
    } while (!pred_lock_try(pred));
}

void pred_spin_while_busy(ucs_rcache_pred_t *pred, _Atomic(int) *busy)
{
    unsigned spins = 0;

    while (atomic_load(busy)) {
        pred_spin(pred, &spins);
    }
}
