/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "bits.h"

#include <ucs/sys/math.h>


/* The bits of a word from the given one on, or before the given one */
#define FROM(_bit)   (UINT64_MAX << ((_bit) % 64))
#define BEFORE(_bit) (~FROM(_bit))


void ucs_arena_bits_set(uint64_t *bits, size_t first, size_t end)
{
    size_t word = first / 64, last = end / 64;
    uint64_t mask = FROM(first);

    for (; word < last; ++word) {
        bits[word] |= mask;
        mask        = UINT64_MAX;
    }
    if (end % 64 != 0) {
        bits[word] |= mask & BEFORE(end);
    }
}

void ucs_arena_bits_clear(uint64_t *bits, size_t first, size_t end)
{
    size_t word = first / 64, last = end / 64;
    uint64_t mask = FROM(first);

    for (; word < last; ++word) {
        bits[word] &= ~mask;
        mask        = UINT64_MAX;
    }
    if (end % 64 != 0) {
        bits[word] &= ~(mask & BEFORE(end));
    }
}

/* @return the first bit of first to end - 1 that is set, or clear; end if there
 *         is none. @param [in] flip 0: look for a set bit. UINT64_MAX: invert
 *         each word before the look, and so look for a clear bit. */
static size_t next(const uint64_t *bits, size_t first, size_t end,
                   uint64_t flip)
{
    size_t word   = first / 64;
    uint64_t mask = FROM(first);
    uint64_t found;

    for (; word * 64 < end; ++word) {
        found = (bits[word] ^ flip) & mask;
        if (found != 0) {
            return ucs_min(word * 64 + (size_t)__builtin_ctzll(found), end);
        }
        mask = UINT64_MAX;
    }
    return end;
}

size_t ucs_arena_bits_next_set(const uint64_t *bits, size_t first, size_t end)
{
    return next(bits, first, end, 0);
}

size_t
ucs_arena_bits_next_clear(const uint64_t *bits, size_t first, size_t end)
{
    return next(bits, first, end, UINT64_MAX);
}
