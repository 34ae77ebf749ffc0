/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_HASH_H_
#define UCS_HASH_H_

#include <stddef.h>
#include <stdint.h>

/** @file hash.h
 *
 * The hash of all tables here. Pure functions that any thread may call, memory
 * hooks included.
 *
 * Keys are addresses and handles, which often have the same distance from one
 * to the next. With one multiplication alone (D. Knuth, The Art of Computer
 * Programming, volume 3, section 6.4, "Fibonacci hashing") such keys are spread
 * evenly for some distances, and heaped up for others: with 200 000 buffers
 * 64 KiB apart, nine of them were looked at to find one. Hence the high bits of
 * the product, where the differences are, are folded into the low bits, and the
 * result is multiplied again.
 */

/** The odd number next to 2^64 divided by the golden ratio. */
#define UCS_HASH_GOLDEN 0x9e3779b97f4a7c15ul


/** The product with the golden ratio, for callers that hash more than one word
 *  or fold the result themselves. Its low bits are as bad as those of the
 *  key. */
static inline uint64_t ucs_hash_word(uint64_t key)
{
    return key * UCS_HASH_GOLDEN;
}

/** The high @a bits (1 to 64) of the hash of @a key: an index into a table of
 *  2^bits entries. */
static inline uint64_t ucs_hash_bits(uint64_t key, unsigned bits)
{
    uint64_t product = ucs_hash_word(key);

    return ucs_hash_word(product ^ (product >> 32)) >> (64 - bits);
}

/** A hash of 32 bits of two words, in which their order counts. */
static inline uint32_t ucs_hash_pair(uint64_t first,
                                     uint64_t second)
{
    uint64_t hash = ucs_hash_word(first);

    return ucs_hash_bits((hash ^ (hash >> 32)) + second, 32);
}

/** What @ref ucs_hash_text begins with. */
#define UCS_HASH_TEXT_FIRST 0xcbf29ce484222325ul

/** @return @a hash with a text added to it, by the function FNV-1a (G. Fowler, L. C. Noll,
 *          K.-P. Vo); NULL counts as the empty text. */
static inline uint64_t ucs_hash_text(uint64_t hash, const char *text)
{
    for (; (text != NULL) && (*text != '\0'); ++text) {
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3ul;
    }
    return hash;
}

#endif
