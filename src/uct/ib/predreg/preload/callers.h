/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_PRELOAD_CALLERS_H_
#define UCT_PREDREG_PRELOAD_CALLERS_H_

#include "state.h"

#include <ucs/sys/compiler_def.h>

#include <stdatomic.h>

/** @file preload/callers.h
 *
 * Finds the function of UCX that an overriding function overrides.
 *
 * A process may have more than one UCX: the system's, and others of plug-ins under names
 * of their own, as repaired Python wheels have. An overriding function forwards a call
 * to the UCX whose function the caller would have got without this library. The core is
 * told of the call only if the core is linked with the same UCX.
 *
 * Each object of UCX descends from a configuration or a domain. So the overriding
 * functions that make a configuration or a domain look up their caller's UCX at each
 * call, and notice a further UCX. Other overriding functions look it up only if there is
 * more than one UCX.
 */

/** The function that called the present one; to be used in an overriding
 *  function itself. */
#define PREDREG_CALLER __builtin_return_address(0)

/**
 * Find the UCX that the caller would have got without this library. Any thread;
 * takes the lock of the dynamic loader if the caller is not known yet.
 *
 * @return the number of the UCX, less than PREDREG_MAX_UCX.
 */
unsigned predreg_find_ucx(const void *caller);

/** As predreg_find_ucx(), but without a search if the process has a single UCX, which has
 *  the number 0. */
static UCS_F_ALWAYS_INLINE unsigned predreg_ucx(const void *caller)
{
    return ucs_likely(ucs_relaxed_load(&predreg_num_ucx) == 1) ?
           0 : predreg_find_ucx(caller);
}


/**
 * Find a function of the UCX that the caller would have got.
 *
 * @param [in]  ucx     Number of that UCX.
 * @param [in]  name    Name of the function.
 * @param [out] real_p  Filled with the function for the next calls, unless the number of
 *                      the UCX is PREDREG_UCX_REST, which several UCXs share.
 * @return the function. If there is none of this name, an error is printed, and a
 *         function is returned that returns UCS_ERR_UNSUPPORTED.
 */
void *predreg_resolve(unsigned ucx, const void *caller, const char *name,
                      _Atomic(void*) *real_p);


/**
 * The overridden function of a UCX. Each use of this macro in the code resolves the name
 * once for each UCX; several threads that do so at the same time find the same address.
 */
#define PREDREG_REAL_OF(_ucx, _caller, _name) \
    ({ \
        static _Atomic(void*) real_##_name[PREDREG_MAX_UCX]; \
        /* Relaxed: the code is loaded before anybody has its address */ \
        void *addr_##_name = ucs_relaxed_load(&real_##_name[_ucx]); \
        if (ucs_unlikely(addr_##_name == NULL)) { \
            addr_##_name = predreg_resolve(_ucx, _caller, #_name, \
                                           &real_##_name[_ucx]); \
        } \
        (__typeof__(&_name))addr_##_name; \
    })

/** The overridden function of a UCX, as PREDREG_REAL_OF(), for use in the overriding
 *  function itself. */
#define PREDREG_REAL(_ucx, _name) PREDREG_REAL_OF(_ucx, PREDREG_CALLER, _name)

#endif
