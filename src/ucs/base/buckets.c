/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "buckets.h"

#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>

/*
 * The index of a scattered bucket is made of the highest bits of the hash.
 * Hence the elements of the old bucket i move to the new buckets 2 i and 2 i +
 * 1. The elements of an ordered bucket may move to any bucket.
 */

/* How many buckets are emptied for each new element. The buckets grow again
 * after half as many new elements as there are old buckets: 2 buckets at a time
 * would be enough to empty all of them by then, and 4 are enough even if
 * elements are removed meanwhile */
#define MOVE_STEPS 4

/* How many empty old buckets are passed over for each new element: where a few
 * buckets are crowded, many others are empty, and growing gains nothing before
 * the crowded ones were emptied */
#define MOVE_EMPTY 256

/* An element meets another one if it follows an element of another key in the
 * same bucket. Buckets are crowded if more than one element in MET_PART meets
 * another one. Of elements spread at random, one in five does just before the
 * buckets are doubled */
#define MET_PART 4

/* Buckets are never crowded if at most this many elements meet others: so few
 * elements are not worth more buckets */
#define MET_FEW 64

/* Bits of a key within a grain: their number at first, by how many the number
 * falls each time that grains become smaller, and the least number */
#define GRAIN_FIRST 12
#define GRAIN_STEP  4
#define GRAIN_MIN   4

/* Grains of a small window, as a power of 2: with pages as grains, a window is
 * 16 MiB, and its buckets take 32 KiB */
#define SMALL_WINDOW 12


/* Let each window have as many grains as there are buckets, 2^bits, and begin f
 * buckets after the end of the window before. Elements s grains apart would have
 * the same buckets in every window if f - 2^bits were a multiple of s. So f -
 * 2^bits is 1 more than a multiple of the primes below, and has no divisor in
 * common with any s that is made of these primes alone */
static void set_large_windows(ucs_order_t *order, unsigned bits)
{
    order->window = order->grain + bits;
    order->factor = ((UCS_BIT(bits) + 1) % (2 * 3 * 5 * 7 * 11)) << 32;
}

ucs_status_t
ucs_buckets_init(ucs_buckets_t *buckets, unsigned bits,
                 ucs_buckets_key_t key)
{
    memset(buckets, 0, sizeof(*buckets));
    buckets->heads = ucs_buckets_alloc(1u << (bits - 1));
    buckets->bits  = bits + 1;
    buckets->mask  = UCS_MASK(buckets->bits);
    buckets->key   = key;
    return (buckets->heads == NULL) ? UCS_ERR_NO_MEMORY : UCS_OK;
}

ucs_status_t
ucs_buckets_init_ordered(ucs_buckets_t *buckets,
                         unsigned bits,
                         ucs_buckets_key_t key)
{
    ucs_status_t status = ucs_buckets_init(buckets, bits, key);

    buckets->ordered     = 1;
    buckets->order.grain = GRAIN_FIRST;
    set_large_windows(&buckets->order, buckets->bits);
    return status;
}

void ucs_buckets_cleanup(ucs_buckets_t *buckets)
{
    free(buckets->empty);
    free(buckets->old);
    free(buckets->heads);
}

ucs_hlist_head_t *ucs_buckets_alloc(unsigned capacity)
{
    return calloc(4ul * capacity, sizeof(ucs_hlist_head_t));
}

int ucs_ordered_is_crowded(
        const ucs_buckets_t *buckets)
{
    return (buckets->old == NULL) &&
           (buckets->order.grain >= (GRAIN_MIN + GRAIN_STEP)) &&
           (buckets->met > (ucs_max(buckets->count / MET_PART, MET_FEW) +
                            buckets->tolerated));
}

/* @return whether windows are small: a hash says where each of them begins */
static int has_small_windows(const ucs_order_t *order)
{
    return order->factor == UCS_HASH_GOLDEN;
}

/* The order of twice as many buckets */
static ucs_order_t
next_order(const ucs_buckets_t *buckets)
{
    ucs_order_t order = buckets->order;

    if (!ucs_ordered_is_crowded(buckets)) {
        if (!has_small_windows(&order)) {
            set_large_windows(&order, buckets->bits + 1);
        }
    } else if (!has_small_windows(&order)) {
        order.factor = UCS_HASH_GOLDEN;
        order.window = order.grain + SMALL_WINDOW;
    } else {
        order.grain  -= GRAIN_STEP;
        order.window -= GRAIN_STEP;
    }

    return order;
}

ucs_hlist_head_t *
ucs_buckets_grow(ucs_buckets_t *buckets,
                 ucs_hlist_head_t *heads, unsigned capacity)
{
    ucs_hlist_head_t *empty = buckets->empty;

    if ((heads == NULL) || (buckets->old != NULL) ||
        (capacity != ucs_buckets_capacity(buckets))) {
        return heads;
    }

    buckets->old_order = buckets->order;
    buckets->order     = next_order(buckets);
    buckets->old       = buckets->heads;
    buckets->heads     = heads;
    buckets->moved     = 0;
    buckets->met       = 0;
    buckets->tolerated = 0;
    buckets->empty     = NULL;
    ++buckets->bits;
    buckets->mask      = UCS_MASK(buckets->bits);
    return empty;
}

/* @return whether neighbours in a bucket have different keys */
static int differ(const ucs_buckets_t *buckets,
                  const ucs_list_link_t *link, const ucs_list_link_t *next)
{
    return buckets->key(ucs_container_of(link, ucs_hlist_link_t, list)) !=
           buckets->key(ucs_container_of(next, ucs_hlist_link_t, list));
}

/* @return whether the caller is to count the elements of a bucket that meet
 * others. Elements of old buckets are counted when they move instead */
static int is_counted(const ucs_buckets_t *buckets,
                      const ucs_hlist_head_t *head)
{
    return (head >= buckets->heads) && (head <= &buckets->heads[buckets->mask]);
}

static void move_element(ucs_buckets_t *buckets,
                         ucs_hlist_link_t *link)
{
    uint64_t key = buckets->key(link);
    ucs_hlist_head_t *head;

    if (buckets->ordered) {
        head          = ucs_ordered_bucket(buckets, key);
        buckets->met += (head->ptr != NULL) &&
                        differ(buckets, head->ptr->list.prev, &link->list);
    } else {
        head = ucs_bucket(buckets, key);
    }
    ucs_hlist_add_tail(head, link);
}

static void move_bucket(ucs_buckets_t *buckets)
{
    ucs_hlist_head_t *old = &buckets->old[buckets->moved++];
    ucs_hlist_link_t *link;

    while ((link = ucs_hlist_extract_head(old)) != NULL) {
        move_element(buckets, link);
    }
}

void ucs_buckets_move(ucs_buckets_t *buckets)
{
    unsigned left  = MOVE_STEPS;
    unsigned empty = MOVE_EMPTY;

    while ((left > 0) && (empty > 0) && (buckets->old != NULL)) {
        if (buckets->old[buckets->moved].ptr == NULL) {
            --empty;
        } else {
            --left;
        }

        move_bucket(buckets);
        if (buckets->moved == UCS_BIT(buckets->bits - 1)) {
            buckets->empty = buckets->old;
            buckets->old   = NULL;
        }
    }
}

void ucs_ordered_add(ucs_buckets_t *buckets,
                     ucs_hlist_link_t *link)
{
    ucs_hlist_head_t *head =
            ucs_ordered_bucket(buckets, buckets->key(link));

    ++buckets->count;
    buckets->met += is_counted(buckets, head) && (head->ptr != NULL) &&
                    differ(buckets, &link->list, &head->ptr->list);
    ucs_hlist_add_head(head, link);
}

void ucs_ordered_remove(ucs_buckets_t *buckets,
                        ucs_hlist_link_t *link)
{
    ucs_hlist_head_t *head =
            ucs_ordered_bucket(buckets, buckets->key(link));
    const ucs_list_link_t *prev = link->list.prev;
    const ucs_list_link_t *next = link->list.next;
    int is_first                = (&head->ptr->list == &link->list);
    int is_last                 = (&head->ptr->list == next);

    --buckets->count;
    if (is_counted(buckets, head)) {
        buckets->met += !is_first && !is_last && differ(buckets, prev, next);
        buckets->met -= (!is_first && differ(buckets, prev, &link->list)) +
                        (!is_last && differ(buckets, &link->list, next));
    }
    ucs_hlist_del(head, link);
}
