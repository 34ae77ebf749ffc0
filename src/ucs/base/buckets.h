/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_BUCKETS_H_
#define UCS_RCACHE_PRED_BUCKETS_H_

#include "hash.h"

#include <ucs/datastruct/hlist.h>
#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

/** @file buckets.h
 *
 * The buckets of a hash table whose elements bring their own links. There are
 * always about as many buckets as elements, so that a bucket holds a few
 * elements however many there are in all. When their number is doubled, the
 * elements move a few buckets at a time, with each element that is added:
 * nobody ever waits for all of them to move. khash of UCS, which moves all at
 * once and allocates while it does, cannot be used under a lock.
 *
 * Memory is allocated and freed by two functions that need no lock; for all
 * others the caller holds the lock of the table, if there is one.
 */

/** @return the key of an element, by its link. */
typedef uint64_t (*ucs_rcache_pred_buckets_key_t)(const ucs_hlist_link_t *link);


typedef struct ucs_rcache_pred_buckets {
    ucs_hlist_head_t              *heads; /**< 2^bits buckets */
    unsigned                      bits;
    unsigned                      moved;  /**< How many of the old buckets are
                                               empty, from the first one on */
    ucs_hlist_head_t              *old;   /**< 2^(bits - 1) buckets, whose
                                               elements are being moved; NULL:
                                               all have moved */
    ucs_hlist_head_t              *empty; /**< Old buckets that are to be freed;
                                               NULL: there are none */
    ucs_rcache_pred_buckets_key_t key;
} ucs_rcache_pred_buckets_t;


/** Allocate the first 2^bits buckets, 1 <= bits <= 31. */
ucs_status_t ucs_rcache_pred_buckets_init(ucs_rcache_pred_buckets_t *buckets,
                                          unsigned bits,
                                          ucs_rcache_pred_buckets_key_t key);

/** Free all buckets. */
void ucs_rcache_pred_buckets_cleanup(ucs_rcache_pred_buckets_t *buckets);

/** @return how many elements the buckets are made for. */
static inline unsigned
ucs_rcache_pred_buckets_capacity(const ucs_rcache_pred_buckets_t *buckets)
{
    return 1u << buckets->bits;
}

/** @return twice as many buckets, for @ref ucs_rcache_pred_buckets_grow, or
 *          NULL. Without the lock.
 *
 * @param [in] capacity  How many there are now. */
ucs_hlist_head_t *ucs_rcache_pred_buckets_alloc(unsigned capacity);

/** Begin to move all elements to twice as many buckets.
 *
 * @param [in] heads     New buckets.
 * @param [in] capacity  How many there were when the new ones were allocated.
 * @return memory to be freed without the lock: old buckets, or @a heads if the
 *         buckets have grown meanwhile. It may be NULL. */
ucs_hlist_head_t *
ucs_rcache_pred_buckets_grow(ucs_rcache_pred_buckets_t *buckets,
                             ucs_hlist_head_t *heads, unsigned capacity);

/** Move the elements of two old buckets, if there are any. To be called for
 *  each element that is added, so that all have moved before the buckets have
 *  to grow again. */
void ucs_rcache_pred_buckets_move(ucs_rcache_pred_buckets_t *buckets);

/** @return the bucket with the elements of this key, among others. */
static UCS_F_ALWAYS_INLINE ucs_hlist_head_t *
ucs_rcache_pred_bucket(const ucs_rcache_pred_buckets_t *buckets, uint64_t key)
{
    uint64_t index = ucs_rcache_pred_hash_bits(key, buckets->bits);

    if (ucs_unlikely(buckets->old != NULL) && (index / 2 >= buckets->moved)) {
        return &buckets->old[index / 2];
    }

    return &buckets->heads[index];
}

#endif
