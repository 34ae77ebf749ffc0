/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ARENA_ALTERED_H_
#define UCT_PREDREG_ARENA_ALTERED_H_

#include <ucs/sys/compiler_def.h>

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file altered.h
 *
 * Pages of an arena with a change that would outlive the program's memory, since the
 * arena keeps pages that the program unmaps: another protection, a lock in memory, advice
 * about children. The arena undoes the change before it allocates the memory again. Any
 * thread may call these functions, memory hooks included; nothing waits.
 */

typedef struct uct_predreg_altered {
    uintptr_t         base;       /**< Where the pages begin. Constant, as the
                                       next two */
    unsigned          page_shift; /**< Logarithm of the size of a page */
    _Atomic(uint64_t)  *bits;      /**< A bit for each page. A thread that uses the memory
                                       sets the bits before its call of the kernel, and
                                       clears them before it frees the memory: relaxed,
                                       since the program orders its own calls for the
                                       same memory. The helper reads the bits as well,
                                       and may miss a new bit */
    _Atomic(int)       is_any;     /**< Whether a bit was ever set. Relaxed, for the
                                       same reason as bits */
} uct_predreg_altered_t;


/** @return how many bytes the bits of @a num_pages pages need. */
size_t uct_predreg_altered_memory_size(size_t num_pages);

/** @param [in] bits  uct_predreg_altered_memory_size() bytes, zero. */
void uct_predreg_altered_init(uct_predreg_altered_t *altered, uintptr_t base,
                              size_t page_size, void *bits);

/** Note pages, all of them in the arena. */
void uct_predreg_altered_add(uct_predreg_altered_t *altered, uintptr_t start,
                             uintptr_t end);

/** @return whether any page of a range is noted. */
int uct_predreg_altered_has(const uct_predreg_altered_t *altered,
                            uintptr_t start, uintptr_t end);

/** Forget the noted pages of a range that is about to be freed: call a function for each
 *  run of noted pages, and forget the run if the function returns 1. @return whether all
 *  runs are forgotten. */
int uct_predreg_altered_remove(uct_predreg_altered_t *altered,
                               uintptr_t start, uintptr_t end,
                               int (*cb)(void *address, size_t length));

END_C_DECLS

#endif
