/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_BUCKETS_H_
#define UCS_BUCKETS_H_

#include "hash.h"

#include <ucs/datastruct/hlist.h>
#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

/** @file buckets.h
 *
 * The buckets of a hash table whose elements bring their own links. There are
 * always two to four times as many buckets as elements, so that a bucket holds one
 * or two elements, whatever their number. When the buckets are doubled, the
 * elements move a few buckets at a time, with each new element: nobody ever waits
 * for all of them to move. khash of UCS moves all at once and allocates then, so
 * that nobody can use it under a lock.
 *
 * Buckets are scattered or ordered. A hash of the key says which scattered bucket
 * has the key. In ordered ones close keys have close buckets: a walk through a
 * million buffers in the order of their addresses is a walk through neighbouring
 * memory, and the processor fetches ahead. See @ref ucs_order_t.
 *
 * Two functions that need no lock allocate and free memory; for all others the
 * caller holds the lock of the table, if there is one.
 */

/** @return the key of an element, by its link. */
typedef uint64_t (*ucs_buckets_key_t)(const ucs_hlist_link_t *link);


/**
 * How ordered buckets follow the order of keys. The keys are divided into
 * grains, ranges of equal length: the bucket of a grain is the one after the
 * bucket of the grain before. Grains are divided into windows: each window
 * begins some buckets later than the window before has ended.
 *
 * At first a grain is a page, in which hardly two buffers begin, and a window
 * has as many grains as there are buckets; the next window begins a few buckets
 * later. So buffers at equal distances have buckets of their own. If too many
 * elements share a bucket with another key nevertheless, windows become small,
 * and a hash says where they begin; if there are still too many, grains become
 * smaller.
 */
typedef struct ucs_order {
    uint64_t factor; /**< How much later a window begins than the window before
                          has ended: in buckets, times 2^32 */
    unsigned grain;  /**< Bits of a key that say where in a grain it is */
    unsigned window; /**< Bits of a key that say where in a window it is */
} ucs_order_t;


typedef struct ucs_buckets {
    ucs_hlist_head_t  *heads;    /**< 2^bits buckets */
    uint64_t          mask;      /**< 2^bits - 1 */
    ucs_order_t       order;     /**< The order of ordered buckets */
    unsigned          bits;
    int               ordered;
    unsigned          moved;     /**< How many of the old buckets are empty, from
                                      the first one on */
    ucs_hlist_head_t  *old;      /**< 2^(bits - 1) buckets, whose elements are
                                      being moved; NULL: all elements have
                                      moved */
    ucs_order_t       old_order; /**< The order of the old buckets */
    unsigned          count;     /**< Number of elements in ordered buckets */
    unsigned          met;       /**< How many elements follow an element of
                                      another key in their bucket ("meet" it);
                                      elements that are still in old buckets do
                                      not count */
    unsigned          tolerated; /**< The value of met when there was no memory
                                      for more buckets */
    ucs_hlist_head_t  *empty;    /**< Old buckets that are to be freed; NULL:
                                      there are none */
    ucs_buckets_key_t key;
} ucs_buckets_t;


/** Allocate the first buckets, scattered ones, for 2^bits elements, 1 <= bits
 *  <= 30. */
ucs_status_t ucs_buckets_init(ucs_buckets_t *buckets,
                              unsigned bits,
                              ucs_buckets_key_t key);

/** Allocate the first buckets, ordered ones, for 2^bits elements.
 *  ucs_ordered_add() adds the elements, and ucs_ordered_remove() removes them.
 *  2^(bits + 1) is at least the number of grains in a small window, see
 *  buckets.c. */
ucs_status_t
ucs_buckets_init_ordered(ucs_buckets_t *buckets,
                         unsigned bits,
                         ucs_buckets_key_t key);

/** Free all buckets. */
void ucs_buckets_cleanup(ucs_buckets_t *buckets);

/** @return how many elements the buckets are made for. */
static inline unsigned
ucs_buckets_capacity(const ucs_buckets_t *buckets)
{
    return 1u << (buckets->bits - 1);
}

/** @return twice as many buckets, for @ref ucs_buckets_grow, or
 *          NULL. Without the lock.
 *
 * @param [in] capacity  What ucs_buckets_capacity() says now. */
ucs_hlist_head_t *ucs_buckets_alloc(unsigned capacity);

/** Begin to move all elements to twice as many buckets.
 *
 * @param [in] heads     New buckets.
 * @param [in] capacity  The capacity for which the new buckets were allocated.
 * @return memory that the caller frees after the unlock, or NULL: buckets that
 *         are empty by now, or @a heads if another thread has let the buckets
 *         grow meanwhile. */
ucs_hlist_head_t *
ucs_buckets_grow(ucs_buckets_t *buckets,
                 ucs_hlist_head_t *heads, unsigned capacity);

/** Move the elements of two old buckets, if there are any. To be called for each
 *  new element, so that all have moved before the buckets have to grow again. */
void ucs_buckets_move(ucs_buckets_t *buckets);

/** Add an element to ordered buckets. */
void ucs_ordered_add(ucs_buckets_t *buckets,
                     ucs_hlist_link_t *link);

/** Remove an element from ordered buckets. */
void ucs_ordered_remove(ucs_buckets_t *buckets,
                        ucs_hlist_link_t *link);

/** @return whether ordered buckets should be doubled before they are full,
 *  since too many elements meet others; 0 while elements move. */
int ucs_ordered_is_crowded(
        const ucs_buckets_t *buckets);

/** There is no memory to double crowded buckets: put up with the elements that
 *  meet others now. The buckets are crowded again when as many more elements
 *  do. */
static inline void
ucs_ordered_put_up(ucs_buckets_t *buckets)
{
    buckets->tolerated = buckets->met;
}

/** @return the scattered bucket for elements of a key; it may have other keys
 *  as well. */
static UCS_F_ALWAYS_INLINE ucs_hlist_head_t *
ucs_bucket(const ucs_buckets_t *buckets, uint64_t key)
{
    uint64_t index = ucs_hash_bits(key, buckets->bits);

    if (ucs_unlikely(buckets->old != NULL) && (index / 2 >= buckets->moved)) {
        return &buckets->old[index / 2];
    }

    return &buckets->heads[index];
}

/** @return the number of the bucket of a key: its low bits, for up to 2^32 buckets. */
static UCS_F_ALWAYS_INLINE uint64_t
ucs_order_place(const ucs_order_t *order, uint64_t key)
{
    return (key >> order->grain) +
           (((key >> order->window) * order->factor) >> 32);
}

/** @return the ordered bucket for elements of a key; it may have other keys as
 *  well. */
static UCS_F_ALWAYS_INLINE ucs_hlist_head_t *
ucs_ordered_bucket(const ucs_buckets_t *buckets,
                   uint64_t key)
{
    uint64_t index;

    if (ucs_unlikely(buckets->old != NULL)) {
        index = ucs_order_place(&buckets->old_order, key) &
                (buckets->mask / 2);
        if (index >= buckets->moved) {
            return &buckets->old[index];
        }
    }

    return &buckets->heads[ucs_order_place(&buckets->order, key) &
                           buckets->mask];
}

#endif
