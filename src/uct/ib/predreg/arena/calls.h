/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ARENA_CALLS_H_
#define UCT_PREDREG_ARENA_CALLS_H_

#include "served.h"

#include <ucs/sys/compiler_def.h>

#include <stddef.h>
#include <sys/mman.h>

BEGIN_C_DECLS

/** @file calls.h
 *
 * The meaning of the program's calls of the kernel for memory of the arena:
 * docs/design/arena.md has a row for each. Any thread may call these functions,
 * memory hooks included: nothing here allocates, logs, or waits but for
 * the lock of the arena.
 *
 * Each function gets the arguments of a call before the kernel does, and returns whether
 * the arena has answered the call. If it has not, the caller passes the call on to the
 * kernel with the arguments that the function has left: these ask for what is left to do,
 * or have the kernel refuse an impossible call, as it would without an arena.
 */

/** Flags by which a program asks for all pages at once (MAP_POPULATE), or for no
 *  reservation of memory before the first access (MAP_NORESERVE, which jemalloc sets for
 *  all memory). An arena can serve a mapping with or without them, since programs
 *  that only reserve addresses ask for more than a slab. */
#define UCT_PREDREG_ARENA_ANY_MEMORY (MAP_POPULATE | MAP_NORESERVE)

/** @return whether a long mapping with these arguments of mmap() can come from an arena: a
 *          mapping without a wanted address, of no file, and without flags for another kind
 *          of memory or for locking the memory. */
static inline int uct_predreg_arena_may_serve(const void *address, int prot, int flags)
{
    return (address == NULL) && (prot == (PROT_READ | PROT_WRITE)) &&
           ((flags & ~UCT_PREDREG_ARENA_ANY_MEMORY) == (MAP_PRIVATE | MAP_ANONYMOUS));
}

/** mmap(). */
int uct_predreg_arena_mmap(uct_predreg_served_t *served, void *address,
                           size_t length, int prot, int flags,
                           void **result_p);

/** munmap(). An answered call has succeeded. */
int uct_predreg_arena_munmap(uct_predreg_served_t *served, void **address_p,
                             size_t *length_p);

/** The arguments of mremap(). */
typedef struct uct_predreg_mremap {
    void   *address;
    size_t old_length;
    size_t new_length;
    int    flags;
    int    is_target_known; /**< Whether UCM's event has the target */
    void   *target;         /**< With MREMAP_FIXED */
} uct_predreg_mremap_t;

/** mremap(). */
int uct_predreg_arena_mremap(uct_predreg_served_t *served,
                             uct_predreg_mremap_t *call, void **result_p);

/** madvise(). An answered call has succeeded. */
int uct_predreg_arena_madvise(uct_predreg_served_t *served, void **address_p,
                              size_t *length_p, int advice);

/** Before mprotect(), pkey_mprotect(), mlock() or mlock2(). @return 0: the caller asks
 *  the kernel; an errno: the call fails with it, since the memory is not the program's
 *  any more. */
int uct_predreg_arena_alter(uct_predreg_served_t *served, const void *address,
                            size_t length);

/** Before the program attaches shared memory, or moves memory, to addresses that may be
 *  of the arena: the kernel replaces the memory there. */
void uct_predreg_arena_replace(uct_predreg_served_t *served, void *address,
                               size_t length);

END_C_DECLS

#endif
