/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PROFILE_PLACE_H_
#define UCS_RCACHE_PROFILE_PLACE_H_

#include <ucs/base/hash.h>
#include <ucs/datastruct/khash.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file place.h
 *
 * What tells places of one process apart, as keys of a khash of UCS. Their names do
 * that in all processes: see name.h. */

typedef struct ucs_rcache_profile_place {
    uint64_t caller;
    uint64_t stack;
} ucs_rcache_profile_place_t;


static inline khint_t
ucs_rcache_profile_place_hash(ucs_rcache_profile_place_t place)
{
    return ucs_rcache_pred_hash_pair(place.caller, place.stack);
}

static inline int
ucs_rcache_profile_place_is_equal(ucs_rcache_profile_place_t a,
                                  ucs_rcache_profile_place_t b)
{
    return (a.caller == b.caller) && (a.stack == b.stack);
}

/** Declare a table of values by place. */
#define UCS_RCACHE_PROFILE_PLACES(_name, _value) \
    KHASH_INIT(_name, ucs_rcache_profile_place_t, _value, 1, \
               ucs_rcache_profile_place_hash, ucs_rcache_profile_place_is_equal)

END_C_DECLS

#endif
