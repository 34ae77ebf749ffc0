/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_PRELOAD_LIBC_H_
#define UCT_PREDREG_PRELOAD_LIBC_H_

#include "preload.h"

#include <dlfcn.h>
#include <errno.h>

/** @file preload_libc.h
 *
 * For overriding functions of libc.
 */

/** The overridden function, which the variable next_NAME keeps. Relaxed: threads that look
 *  for the function at the same time find the same address. A constructor has to use the
 *  macro for each function: programs, such as garbage collectors, call the functions in
 *  handlers of signals, where dlsym() must not be called. */
#define PREDREG_NEXT(_name) \
    ({ \
        void *found = ucs_relaxed_load(&next_##_name); \
        \
        if (ucs_unlikely(found == NULL)) { \
            found = dlsym(RTLD_NEXT, #_name); \
            ucs_relaxed_store(&next_##_name, found); \
        } \
        (__typeof__(&_name))found; \
    })

/** Tell the core of the program's call. The address is a number: libc declares that some
 *  of the overridden functions do not access the memory, and a compiler would warn if they
 *  handed on the pointer. @return 0; or an error, also put into errno, with which the
 *  program's call is to fail. */
static UCS_F_ALWAYS_INLINE int
predreg_alter_memory(uintptr_t address, size_t length, int prot)
{
    /* Acquire: pairs with the release in start_core(), which sets the pointer once the core
     * has started */
    predreg_alter_t alter = atomic_load_explicit(&predreg_alter,
                                                 memory_order_acquire);
    int error             = 0;

    if (ucs_unlikely(alter != NULL)) {
        error = alter((const void*)address, length, prot);
    }
    if (ucs_unlikely(error != 0)) {
        errno = error;
    }
    return error;
}

#endif
