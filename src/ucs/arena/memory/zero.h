/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_ARENA_MEMORY_ZERO_H_
#define UCS_ARENA_MEMORY_ZERO_H_

#include <ucs/sys/compiler_def.h>

#include <stddef.h>

BEGIN_C_DECLS

/** @file zero.h
 *
 * Filling memory with zeros past the cache. Any thread may call it, memory
 * hooks included.
 */

/**
 * Fill memory with zeros. On x86-64 the stores go past the cache, so that the
 * helper does not displace what the program has in it; elsewhere this is
 * memset(). The stores are done when it returns: whoever sees a later store of
 * this thread sees zeros.
 *
 * @param [in] start   A multiple of 64.
 * @param [in] length  A multiple of 64, bytes; may be 0.
 */
void ucs_arena_zero(void *start, size_t length);

END_C_DECLS

#endif
