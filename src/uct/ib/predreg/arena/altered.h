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
 * kernel does not unmap the pages: another protection, a lock in memory, advice about
 * children. The arena undoes the change before the memory is allocated again.
 * Any thread may call these functions, memory hooks included; nothing waits.
 */

typedef struct uct_predreg_altered {
    uintptr_t         base;       /**< Where the pages begin. Constant, as the
                                       next two */
    unsigned          page_shift; /**< Logarithm of the size of a page */
    _Atomic(uint64_t)  *bits;      /**< A bit for each page. Set before the call of the
                                       kernel, and cleared before the memory is
                                       freed, by threads that use the memory:
                                       relaxed, since the program orders its own
                                       calls for one memory. The helper reads the
                                       bits as well, and may miss a new one */
    _Atomic(int)       is_any;     /**< Whether a bit was ever set. Relaxed, for
                                       the same reason */
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

/** Call a function for each run of noted pages, before the range is freed, and forget the
 *  run if the function returns 1. @return whether all are forgotten. */
int uct_predreg_altered_remove(uct_predreg_altered_t *altered,
                               uintptr_t start, uintptr_t end,
                               int (*cb)(void *address, size_t length));

END_C_DECLS

#endif
