/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_HASH_H_
#define UCS_RCACHE_PRED_HASH_H_

#include <stdint.h>

/** @file hash.h
 *
 * The multiplicative hash of all tables here (D. Knuth, The Art of Computer
 * Programming, volume 3, section 6.4, "Fibonacci hashing"). Addresses and
 * handles differ in their middle bits; the multiplication carries these
 * differences to the high bits, which is why a table must take its index from
 * there. Pure functions that any thread may call, memory hooks included.
 */

/** The odd number next to 2^64 divided by the golden ratio. Not to be changed:
 *  names of shared segments and the order of replays depend on it. */
#define UCS_RCACHE_PRED_HASH_GOLDEN 0x9e3779b97f4a7c15ul


/** All 64 bits of the hash of @a key, for callers that hash more than one word
 *  or fold the result. Its low bits are as bad as those of the key. */
static inline uint64_t ucs_rcache_pred_hash_word(uint64_t key)
{
    return key * UCS_RCACHE_PRED_HASH_GOLDEN;
}

/** The high @a bits (1 to 64) of the hash of @a key: an index into a table of
 *  2^bits entries. */
static inline uint64_t ucs_rcache_pred_hash_bits(uint64_t key, unsigned bits)
{
    return ucs_rcache_pred_hash_word(key) >> (64 - bits);
}

#endif
