/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

/*
 * Overriding functions of libc. Those that change rights to memory, or lock memory, have
 * no event of UCM: they tell the core first, and then call the overridden function.
 * mallopt() tells malloc() what to map: the program's setting prevails over the arena's.
 * libc's own calls, such as for the stacks of threads, do not come here.
 */

/* Tell the core of the program's call. The address is a number: libc declares that some
 * of the functions below do not access the memory, and a compiler would warn if they
 * handed on the pointer. @return 0; or an error, also put into errno, with which the
 * program's call is to fail */
static UCS_F_ALWAYS_INLINE int tell(uintptr_t address, size_t length, int prot)
{
    /* Acquire: a thread that sees the function sees the core started, see start_core() */
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

/* The overridden function. Relaxed: threads that look for the function at the same time
 * find the same address */
#define NEXT(_name) \
    ({ \
        void *found = ucs_relaxed_load(&next_##_name); \
        \
        if (ucs_unlikely(found == NULL)) { \
            found = dlsym(RTLD_NEXT, #_name); \
            ucs_relaxed_store(&next_##_name, found); \
        } \
        (__typeof__(&_name))found; \
    })

static _Atomic(void*) next_mprotect;
static _Atomic(void*) next_pkey_mprotect;
static _Atomic(void*) next_mlock;
static _Atomic(void*) next_mlock2;
static _Atomic(void*) next_mallopt;

/* Whether the program has chosen where malloc() gets its memory from. Relaxed: the arena
 * chooses much later than the program */
static _Atomic(int) is_malloc_set;

/* Find all overridden functions while this library is loaded: programs, such as garbage
 * collectors, call the functions in handlers of signals, where dlsym() must not be
 * called */
UCS_F_CTOR static void find_all(void)
{
    (void)NEXT(mprotect);
    (void)NEXT(pkey_mprotect);
    (void)NEXT(mlock);
    (void)NEXT(mlock2);
    (void)NEXT(mallopt);
}

PREDREG_EXPORT int mprotect(void *address, size_t length, int prot)
{
    return (tell((uintptr_t)address, length, prot) != 0) ?
                   -1 :
                   NEXT(mprotect)(address, length, prot);
}

PREDREG_EXPORT int pkey_mprotect(void *address, size_t length, int prot, int pkey)
{
    return (tell((uintptr_t)address, length, prot) != 0) ?
                   -1 :
                   NEXT(pkey_mprotect)(address, length, prot, pkey);
}

PREDREG_EXPORT int mlock(const void *address, size_t length)
{
    return (tell((uintptr_t)address, length, -1) != 0) ?
                   -1 :
                   NEXT(mlock)(address, length);
}

PREDREG_EXPORT int mlock2(const void *address, size_t length, unsigned flags)
{
    return (tell((uintptr_t)address, length, -1) != 0) ?
                   -1 :
                   NEXT(mlock2)(address, length, flags);
}

/* Whether a parameter of malloc() is about mappings or about memory that the heap gives
 * back: the arena leaves a program's setting of such a parameter alone */
static int is_about_mappings(int param)
{
    return (param == M_MMAP_THRESHOLD) || (param == M_MMAP_MAX) ||
           (param == M_TRIM_THRESHOLD) || (param == M_TOP_PAD);
}

static int is_core(const void *caller)
{
    const void *core = ucs_relaxed_load(&predreg_core);
    Dl_info info, core_info;

    return (core != NULL) && dladdr(core, &core_info) && dladdr(caller, &info) &&
           (info.dli_fbase == core_info.dli_fbase);
}

PREDREG_EXPORT int mallopt(int param, int value)
{
    if (is_about_mappings(param)) {
        if (!is_core(PREDREG_CALLER)) {
            ucs_relaxed_store(&is_malloc_set, 1);
        } else if (ucs_relaxed_load(&is_malloc_set)) {
            return 0; /* Refused, as mallopt() refuses an unknown parameter */
        }
    }
    return NEXT(mallopt)(param, value);
}
