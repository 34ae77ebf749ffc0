/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_ARENA_MEMORY_BITS_H_
#define UCS_ARENA_MEMORY_BITS_H_

#include <ucs/sys/compiler_def.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file bits.h
 *
 * Ranges of bits in words of 64 bits. The caller holds the lock of the bits.
 * Each function takes a step for each word of the range.
 */

/** Set the bits @a first to @a end - 1. */
void ucs_arena_bits_set(uint64_t *bits, size_t first, size_t end);

/** Clear the bits @a first to @a end - 1. */
void ucs_arena_bits_clear(uint64_t *bits, size_t first, size_t end);

/** @return the first bit of @a first to @a end - 1 that is set; @a end if none
 *          is. */
size_t ucs_arena_bits_next_set(const uint64_t *bits, size_t first, size_t end);

/** @return the first bit of @a first to @a end - 1 that is not set; @a end if
 *          all are. */
size_t
ucs_arena_bits_next_clear(const uint64_t *bits, size_t first, size_t end);

static UCS_F_ALWAYS_INLINE int
ucs_arena_bits_is_set(const uint64_t *bits, size_t bit)
{
    return (bits[bit / 64] >> (bit % 64)) & 1;
}

END_C_DECLS

#endif
