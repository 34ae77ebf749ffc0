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
 * The buckets of a hash table whose elements bring their own links. The caller
 * doubles the buckets once there are half as many elements as buckets, and so most
 * buckets hold one or two elements at most. After a doubling, the elements of a
 * few buckets move with each new element: nobody ever waits for all elements to
 * move. khash of UCS moves all elements at once, and allocates memory then, which
 * a thread with a lock must not do.
 *
 * Buckets are scattered or ordered. A hash of the key says which scattered bucket
 * has the key. In ordered ones close keys have close buckets: a walk through a
 * million buffers in the order of their addresses is a walk through neighbouring
 * memory, and the processor fetches ahead. See @ref ucs_order_t.
 *
 * The caller holds the lock of the table, if there is one, except in
 * ucs_buckets_alloc(), and before and after all use of the table
 * (initialization and cleanup). These are the only functions that allocate or
 * free memory.
 */

/** @return the key of an element, by its link. */
typedef uint64_t (*ucs_buckets_key_t)(const ucs_hlist_link_t *link);


/**
 * How ordered buckets follow the order of keys. The keys are divided into
 * grains, ranges of equal length, and each grain has one bucket. A window is a
 * row of grains whose buckets are a row as well; the first bucket of a window
 * comes some buckets after the last bucket of the window before.
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
 *  The caller chooses bits so that 2^(bits + 1) is at least the number of
 *  grains in a small window, see buckets.c. */
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

/** @return memory for twice as many buckets, for @ref ucs_buckets_grow; NULL if
 *          there is none. The caller need not hold the lock.
 *
 * @param [in] capacity  What ucs_buckets_capacity() says now. */
ucs_hlist_head_t *ucs_buckets_alloc(unsigned capacity);

/** Begin to move all elements to twice as many buckets.
 *
 * @param [in] heads     New buckets.
 * @param [in] capacity  The capacity for which the new buckets were allocated.
 * @return memory that the caller frees after the unlock, or NULL. It is the old
 *         buckets of an earlier growth, which are empty by now; or @a heads, if
 *         nothing begins: elements still move, or another thread has let the
 *         buckets grow since the caller read the capacity. */
ucs_hlist_head_t *
ucs_buckets_grow(ucs_buckets_t *buckets,
                 ucs_hlist_head_t *heads, unsigned capacity);

/** Move the elements of a few old buckets (MOVE_STEPS in buckets.c), if there are
 *  old buckets. To be called for each new element: then all old buckets are empty
 *  before the buckets have to grow again. */
void ucs_buckets_move(ucs_buckets_t *buckets);

/** Add an element to ordered buckets. */
void ucs_ordered_add(ucs_buckets_t *buckets,
                     ucs_hlist_link_t *link);

/** Remove an element from ordered buckets. */
void ucs_ordered_remove(ucs_buckets_t *buckets,
                        ucs_hlist_link_t *link);

/** @return whether the caller should double ordered buckets before they are
 *  full, since too many elements meet others; 0 while elements move, and once
 *  grains are as small as they get. */
int ucs_ordered_is_crowded(
        const ucs_buckets_t *buckets);

/** For a caller that has no memory to double crowded buckets: tolerate the
 *  elements that meet others now. The buckets count as crowded again once too
 *  many further elements meet others. */
static inline void
ucs_ordered_put_up(ucs_buckets_t *buckets)
{
    buckets->tolerated = buckets->met;
}

/** @return the scattered bucket for elements of a key; elements of other keys may
 *  be there as well. */
static UCS_F_ALWAYS_INLINE ucs_hlist_head_t *
ucs_bucket(const ucs_buckets_t *buckets, uint64_t key)
{
    uint64_t index = ucs_hash_bits(key, buckets->bits);

    if (ucs_unlikely(buckets->old != NULL) && (index / 2 >= buckets->moved)) {
        return &buckets->old[index / 2];
    }

    return &buckets->heads[index];
}

/** @return a number whose low bits, up to 32, are the number of a key's bucket; the
 *          caller cuts off the bits above. */
static UCS_F_ALWAYS_INLINE uint64_t
ucs_order_place(const ucs_order_t *order, uint64_t key)
{
    return (key >> order->grain) +
           (((key >> order->window) * order->factor) >> 32);
}

/** @return the ordered bucket for elements of a key; elements of other keys may be
 *  there as well. */
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
