/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "wrapped.h"

#include <ucs/datastruct/callbackq.h>

#include <stdatomic.h>

/* How many interfaces of this process have their retry_func called by progress.
 * Relaxed: a thread that asks whether it may sleep has itself started what it
 * would miss. */
static _Atomic(unsigned) num_retrying;


unsigned uct_predreg_forks;


/* What a forked child has inherited does not count: a child never waits for
 * it */
static void count_retrying(const uct_predreg_iface_t *iface, unsigned count)
{
    if (!uct_predreg_is_inherited(iface)) {
        atomic_fetch_add_explicit(&num_retrying, count, memory_order_relaxed);
    }
}

void uct_predreg_retry_start(uct_predreg_iface_t *iface)
{
    if (iface->retry_id == UCS_CALLBACKQ_ID_NULL) {
        iface->env.progress_register(iface->worker, iface->retry_func, iface, 0,
                                     &iface->retry_id);
        count_retrying(iface, 1);
    }
}

void uct_predreg_retry_stop(uct_predreg_iface_t *iface)
{
    if (iface->retry_id != UCS_CALLBACKQ_ID_NULL) {
        iface->env.progress_unregister(iface->worker, &iface->retry_id);
        count_retrying(iface, -1u);
    }
}

int uct_predreg_may_sleep(void)
{
    return atomic_load_explicit(&num_retrying, memory_order_relaxed) == 0;
}

void uct_predreg_wrapped_reset(void)
{
    ++uct_predreg_forks;
    atomic_store_explicit(&num_retrying, 0, memory_order_relaxed);
}
