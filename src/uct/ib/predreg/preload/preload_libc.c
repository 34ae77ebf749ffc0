/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "preload_libc.h"

#include <sys/mman.h>

/*
 * Overriding functions of libc that change rights to memory, for which UCM has no event:
 * they tell the core first, and then call the overridden function. libc's own calls do not
 * come here.
 */


static _Atomic(void*) next_mprotect;
static _Atomic(void*) next_pkey_mprotect;

UCS_F_CTOR static void find_all(void)
{
    (void)PREDREG_NEXT(mprotect);
    (void)PREDREG_NEXT(pkey_mprotect);
}

PREDREG_EXPORT int mprotect(void *address, size_t length, int prot)
{
    return (predreg_alter_memory((uintptr_t)address, length, prot) != 0) ?
                   -1 :
                   PREDREG_NEXT(mprotect)(address, length, prot);
}

PREDREG_EXPORT int pkey_mprotect(void *address, size_t length, int prot, int pkey)
{
    return (predreg_alter_memory((uintptr_t)address, length, prot) != 0) ?
                   -1 :
                   PREDREG_NEXT(pkey_mprotect)(address, length, prot, pkey);
}
