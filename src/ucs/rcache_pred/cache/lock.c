/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "lock.h"

/*
 * How a thread waits for another one: for the lock, for a registration that is
 * under way, or for room that is being given back, see ucs/base/wait.h. A thread that
 * does a round of the helper's work holds helper_mutex, by which a waiting thread of a
 * real-time class lends it its priority. The lock of the cache is no mutex that lends
 * priority, since that would cost 20 ns more for each pair of lock and unlock, and a use
 * needs two pairs.
 */


/* How many times a thread that has found the lock or a lane taken looks again before it
 * lets other threads run. So many looks take some 30 us (AMD EPYC). A thread has the lock
 * for less time, unless the system takes the processor from it. */
#define LOCK_SPINS 1000

/* After a waiting thread has let other threads run so many times, it sleeps at each
 * further look. Another thread may have lent it a real-time priority by helper_mutex,
 * without its knowledge: then sched_yield() does not let a thread with a lower priority
 * run, which may be the one that it waits for. */
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

    /* Relaxed: the caller enters its lane or takes the lock afterwards, which orders its
     * accesses */
    while (ucs_relaxed_load(&pred->lock)) {
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
