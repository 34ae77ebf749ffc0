/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "forget_access.h"

#include <ucs/rcache_pred/cache/cache.h>
#include <ucs/rcache_pred/helper/decide.h>

#include <stdatomic.h>


static test_forget_func_t on_forget;
static void *on_forget_arg;
static _Atomic(unsigned) num_locks;

void test_set_on_forget(test_forget_func_t func, void *arg)
{
    on_forget     = func;
    on_forget_arg = arg;
}


/* The linker routes the calls of the library through here (--wrap) */

void __real_pred_forget_region(ucs_rcache_pred_t *pred,
                               ucs_rcache_pred_region_t *region);

void __wrap_pred_forget_region(ucs_rcache_pred_t *pred,
                               ucs_rcache_pred_region_t *region)
{
    if (on_forget != NULL) {
        on_forget(region->start, on_forget_arg);
    }

    __real_pred_forget_region(pred, region);
}

void __real_pred_close_lanes(ucs_rcache_pred_t *pred);

void __wrap_pred_close_lanes(ucs_rcache_pred_t *pred)
{
    atomic_fetch_add(&num_locks, 1);
    __real_pred_close_lanes(pred);
}

unsigned test_num_locks(void)
{
    return atomic_load(&num_locks);
}
