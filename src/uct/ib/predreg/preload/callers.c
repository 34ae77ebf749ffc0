/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "preload.h"
#include "ucx.h"

#include <pthread.h>

/* Which UCX a caller has, and the functions of that UCX */

/* Libraries that call UCX. If there are more, the others are looked up at each
 * of their calls. */
#define MAX_CALLERS 64


typedef struct caller {
    predreg_range_t library;
    unsigned        ucx;
} caller_t;


_Atomic unsigned predreg_num_ucx;

/* The function PREDREG_UCX_FUNCTION of each UCX. An entry is written under the
 * lock, before predreg_num_ucx counts it. */
static const void *ucx_functions[PREDREG_MAX_UCX];

/* Callers of a process with more than one UCX. An entry is written under the
 * lock, before num_callers counts it with release; it never changes, since the
 * library is kept. */
static caller_t callers[MAX_CALLERS];
static _Atomic unsigned num_callers;

/* Protects the two tables above against other writers. No function of ucx.h is
 * called while it is held. */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;


/* This takes the place of a function that was not found. It returns a value as
 * wide as a pointer, since some functions of UCP return a pointer that holds
 * the status. */
static intptr_t missing_function(void)
{
    return UCS_ERR_UNSUPPORTED;
}

void *predreg_resolve(unsigned ucx, const void *caller, const char *name,
                      _Atomic(void*) *real_p)
{
    void *addr = predreg_lookup(caller, name);

    if (addr == NULL) {
        PREDREG_COMPLAIN("%s was called by %s, but there is no such function "
                         "in this process", name, predreg_library_name(caller));
        addr = missing_function;
    } else if (ucx == PREDREG_UCX_REST) {
        return addr; /* It is right for this caller only */
    } else {
        predreg_keep_library(addr);
    }

    /* Relaxed: see PREDREG_REAL() */
    atomic_store_explicit(real_p, addr, memory_order_relaxed);
    return addr;
}

/* Find the number of a UCX, or give it the next one. */
static unsigned number_of(const void *function)
{
    unsigned ucx, count;

    pthread_mutex_lock(&table_lock);
    /* Relaxed: it is written under the lock */
    count = atomic_load_explicit(&predreg_num_ucx, memory_order_relaxed);
    for (ucx = 0; ucx < count; ++ucx) {
        if (ucx_functions[ucx] == function) {
            goto out;
        }
    }

    if (ucx < PREDREG_UCX_REST) {
        ucx_functions[ucx] = function;
        /* Relaxed: see preload.h */
        atomic_store_explicit(&predreg_num_ucx, ucx + 1, memory_order_relaxed);
    }
out:
    pthread_mutex_unlock(&table_lock);
    return ucx;
}

/* Remember the UCX of a library, which stays loaded from now on, so that no
 * other library can come to be in its place. */
static void caller_add(const void *address, unsigned ucx)
{
    caller_t caller = {predreg_library_range(address), ucx};
    unsigned count;

    if (caller.library.start == NULL) {
        return; /* Code that was made at run time */
    }

    predreg_keep_library(address);
    pthread_mutex_lock(&table_lock);
    count = atomic_load_explicit(&num_callers, memory_order_relaxed);
    /* Another thread may have added it meanwhile, which does no harm */
    if (count < MAX_CALLERS) {
        callers[count] = caller;
        atomic_store_explicit(&num_callers, count + 1, memory_order_release);
    }
    pthread_mutex_unlock(&table_lock);
}

unsigned predreg_find_ucx(const void *caller)
{
    const void *function;
    unsigned i, count, ucx;

    /* Acquire: the entries were written before they were counted */
    count = atomic_load_explicit(&num_callers, memory_order_acquire);
    for (i = 0; i < count; ++i) {
        if (predreg_range_has(&callers[i].library, caller)) {
            return callers[i].ucx;
        }
    }

    function = predreg_lookup(caller, PREDREG_UCX_FUNCTION);
    if (function == NULL) {
        return PREDREG_UCX_REST; /* It has none, so all its calls fail */
    }

    ucx = number_of(function);
    /* As long as there is one UCX, nothing need be remembered, and plug-ins
     * can be closed */
    if (atomic_load_explicit(&predreg_num_ucx, memory_order_relaxed) > 1) {
        caller_add(caller, ucx);
    }
    return ucx;
}
