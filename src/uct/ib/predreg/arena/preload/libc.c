/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <uct/ib/predreg/preload/preload_libc.h>

#include <malloc.h>
#include <sys/mman.h>

/*
 * Overriding functions of libc for the arena, which unlocks memory when the program frees it.
 * So functions that lock memory tell the core first, and then call the overridden function.
 * mallopt() tells malloc() what to map: the program's setting prevails over the
 * arena's. libc's own calls, such as for the stacks of threads, do not come here.
 */


static _Atomic(void*) next_mlock;
static _Atomic(void*) next_mlock2;
static _Atomic(void*) next_mallopt;

/* Whether the program has chosen where malloc() gets its memory from. Relaxed: the arena
 * chooses much later than the program */
static _Atomic(int) is_malloc_set;

UCS_F_CTOR static void find_all(void)
{
    (void)PREDREG_NEXT(mlock);
    (void)PREDREG_NEXT(mlock2);
    (void)PREDREG_NEXT(mallopt);
}

PREDREG_EXPORT int mlock(const void *address, size_t length)
{
    return (predreg_alter_memory((uintptr_t)address, length, -1) != 0) ?
                   -1 :
                   PREDREG_NEXT(mlock)(address, length);
}

PREDREG_EXPORT int mlock2(const void *address, size_t length, unsigned flags)
{
    return (predreg_alter_memory((uintptr_t)address, length, -1) != 0) ?
                   -1 :
                   PREDREG_NEXT(mlock2)(address, length, flags);
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
    return PREDREG_NEXT(mallopt)(param, value);
}
