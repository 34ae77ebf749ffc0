/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "zero.h"

#include <string.h>

#ifdef __x86_64__

#include <emmintrin.h>

void ucs_arena_zero(void *start, size_t length)
{
    const __m128i zero = _mm_setzero_si128();
    __m128i *line      = start;
    __m128i *end       = line + (length / sizeof(*line));

    /* A cache line a round: the processor then writes it whole, and reads
     * nothing */
    for (; line < end; line += 4) {
        _mm_stream_si128(line, zero);
        _mm_stream_si128(line + 1, zero);
        _mm_stream_si128(line + 2, zero);
        _mm_stream_si128(line + 3, zero);
    }

    /* Without a fence another thread could see a later store of this thread
     * before it sees these zeros, since stores past the cache may be done in any
     * order */
    _mm_sfence();
}

#else

void ucs_arena_zero(void *start, size_t length)
{
    memset(start, 0, length);
}

#endif
