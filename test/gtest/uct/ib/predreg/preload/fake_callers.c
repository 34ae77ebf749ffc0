/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fake_callers.h"

#define predreg_num_ucx       callers_num_ucx
#define predreg_find_ucx      callers_find_ucx
#define predreg_resolve       callers_resolve
#define predreg_lookup        callers_lookup
#define predreg_library_range callers_library_range
#define predreg_library_name  callers_library_name
#define predreg_keep_library  callers_keep_library

#include <uct/ib/predreg/preload/callers.c>

#include <string.h>

#define UCX_SHIFT     32
#define LIBRARY_SHIFT 16

_Atomic(unsigned) callers_num_ucx;

static _Atomic unsigned num_lookups;


const void *fake_caller(unsigned ucx, unsigned library)
{
    return (const void*)(((ucx + 1ul) << UCX_SHIFT) +
                         ((unsigned long)library << LIBRARY_SHIFT) + 8);
}

void *callers_lookup(const void *caller, const char *name)
{
    atomic_fetch_add_explicit(&num_lookups, 1, memory_order_relaxed);
    return (void*)((uintptr_t)caller >> UCX_SHIFT);
}

predreg_range_t callers_library_range(const void *address)
{
    uintptr_t start       = (uintptr_t)address & ~((1ul << LIBRARY_SHIFT) - 1);
    predreg_range_t range = {(const char*)start,
                             (const char*)start + (1ul << LIBRARY_SHIFT)};
    predreg_range_t none  = {NULL, NULL};

    return (start & ((1ul << UCX_SHIFT) - 1)) ? range : none;
}

const char *callers_library_name(const void *address)
{
    return "a fake library";
}

void callers_keep_library(const void *address)
{
}

void fake_callers_reset(void)
{
    memset(ucx_functions, 0, sizeof(ucx_functions));
    memset(callers, 0, sizeof(callers));
    atomic_store(&num_callers, 0);
    atomic_store(&predreg_num_ucx, 0);
    atomic_store(&num_lookups, 0);
}

unsigned fake_callers_find_ucx(const void *caller)
{
    return predreg_find_ucx(caller);
}

unsigned fake_callers_num_ucx(void)
{
    return atomic_load(&predreg_num_ucx);
}

unsigned fake_callers_count(void)
{
    return atomic_load(&num_callers);
}

unsigned fake_callers_lookups(void)
{
    return atomic_load(&num_lookups);
}
