/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "preload.h"
#include "ucx.h"

#include <ucs/sys/math.h>

/*
 * Which UCX a caller has, and the functions of the UCX.
 *
 * There is no lock, since the thread that holds the lock may be missing in a forked child.
 * Threads take the entries of the tables below with atomics, and an entry does not change
 * after it was written.
 */

/* How many libraries that call UCX are remembered. The UCX of any further library is
 * searched for at each of its calls. */
#define MAX_CALLERS 64


typedef struct caller {
    predreg_range_t library;
    unsigned        ucx;
    _Atomic(int)     is_known; /* Whether the other fields are written, by the one thread
                                * that has taken the entry. Release and acquire */
} caller_t;


/* The function PREDREG_UCX_FUNCTION of each UCX; NULL: there are no more.
 * Relaxed: the addresses are only compared, and nothing is read through them. */
static _Atomic(const void*) ucx_functions[PREDREG_UCX_REST];

/* The libraries that have called UCX, in a process with more than one UCX. The entries
 * stay true, since the libraries are kept loaded. */
static caller_t callers[MAX_CALLERS];

/* How many entries were taken. Relaxed: each entry says itself (is_known) whether it is
 * complete */
static _Atomic(unsigned) num_callers;


/* Called in place of a missing function. The value is as wide as a pointer, since some
 * functions of UCP return a status as a pointer. */
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
        return addr; /* Right for the present caller only */
    } else {
        predreg_keep_library(addr);
    }

    /* Relaxed: see PREDREG_REAL_OF() */
    ucs_relaxed_store(real_p, addr);
    return addr;
}

/* Find the number of a UCX. A UCX without a number gets the next number. */
static unsigned number_of(const void *function)
{
    const void *known;
    unsigned ucx;

    for (ucx = 0; ucx < PREDREG_UCX_REST; ++ucx) {
        known = ucs_relaxed_load(&ucx_functions[ucx]);
        if ((known == NULL) &&
            ucs_relaxed_cas(&ucx_functions[ucx], &known, function)) {
            known = function;
        }

        if (known == function) {
            /* Another thread may have given the UCX its number, and not counted it yet */
            ucs_relaxed_raise(&predreg_num_ucx, ucx + 1);
            return ucx;
        }
    }

    return PREDREG_UCX_REST;
}

/* Remember the UCX of a library, and keep the library loaded, so that no other library
 * can come to be in its place. */
static void caller_add(const void *address, unsigned ucx)
{
    predreg_range_t library = predreg_library_range(address);
    caller_t *caller;
    unsigned i;

    if ((library.start == NULL) || /* Code that was made at run time */
        (ucs_relaxed_load(&num_callers) >= MAX_CALLERS)) {
        return;
    }

    predreg_keep_library(address);
    /* Another thread may have added the library meanwhile: two entries do no harm */
    i = ucs_relaxed_add(&num_callers, 1);
    if (i >= MAX_CALLERS) {
        return;
    }

    caller          = &callers[i];
    caller->library = library;
    caller->ucx     = ucx;
    atomic_store_explicit(&caller->is_known, 1, memory_order_release);
}

/* @return the entry of the library at an address, or NULL. */
static const caller_t *caller_find(const void *address)
{
    unsigned count = ucs_relaxed_load(&num_callers);
    const caller_t *caller;

    for (caller = callers; caller < callers + ucs_min(count, MAX_CALLERS);
         ++caller) {
        if (atomic_load_explicit(&caller->is_known, memory_order_acquire) &&
            predreg_range_has(&caller->library, address)) {
            return caller;
        }
    }

    return NULL;
}

unsigned predreg_find_ucx(const void *caller)
{
    const caller_t *known = caller_find(caller);
    const void *function;
    unsigned ucx;

    if (known != NULL) {
        return known->ucx;
    }

    function = predreg_lookup(caller, PREDREG_UCX_FUNCTION);
    if (function == NULL) {
        return PREDREG_UCX_REST; /* The caller has no UCX, so all its calls fail */
    }

    ucx = number_of(function);
    /* As long as there is one UCX, the caller need not be remembered: a plug-in that
     * calls UCX is not kept loaded */
    if (ucs_relaxed_load(&predreg_num_ucx) > 1) {
        caller_add(caller, ucx);
    }
    return ucx;
}
