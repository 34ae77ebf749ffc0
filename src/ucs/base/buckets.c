/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "buckets.h"

#include <stdlib.h>

/*
 * The index of a bucket is made of the highest bits of the hash. Hence the
 * elements of the old bucket i move to the new buckets 2 i and 2 i + 1.
 */

/* How many buckets move at a time. 1 would be enough to be done before the
 * buckets grow again; with 2 that is so even if elements are removed
 * meanwhile */
#define MOVE_STEPS 2


ucs_status_t
ucs_rcache_pred_buckets_init(ucs_rcache_pred_buckets_t *buckets, unsigned bits,
                             ucs_rcache_pred_buckets_key_t key)
{
    buckets->heads = ucs_rcache_pred_buckets_alloc(1u << (bits - 1));
    buckets->bits  = bits;
    buckets->moved = 0;
    buckets->old   = NULL;
    buckets->empty = NULL;
    buckets->key   = key;
    return (buckets->heads == NULL) ? UCS_ERR_NO_MEMORY : UCS_OK;
}

void ucs_rcache_pred_buckets_cleanup(ucs_rcache_pred_buckets_t *buckets)
{
    free(buckets->empty);
    free(buckets->old);
    free(buckets->heads);
}

ucs_hlist_head_t *ucs_rcache_pred_buckets_alloc(unsigned capacity)
{
    return calloc(2ul * capacity, sizeof(ucs_hlist_head_t));
}

ucs_hlist_head_t *
ucs_rcache_pred_buckets_grow(ucs_rcache_pred_buckets_t *buckets,
                             ucs_hlist_head_t *heads, unsigned capacity)
{
    ucs_hlist_head_t *empty = buckets->empty;

    if ((heads == NULL) || (buckets->old != NULL) ||
        (capacity != ucs_rcache_pred_buckets_capacity(buckets))) {
        return heads;
    }

    buckets->old   = buckets->heads;
    buckets->heads = heads;
    buckets->moved = 0;
    buckets->empty = NULL;
    ++buckets->bits;
    return empty;
}

static void move_bucket(ucs_rcache_pred_buckets_t *buckets)
{
    ucs_hlist_head_t *old = &buckets->old[buckets->moved++];
    ucs_hlist_link_t *link;

    while ((link = ucs_hlist_extract_head(old)) != NULL) {
        ucs_hlist_add_tail(ucs_rcache_pred_bucket(buckets, buckets->key(link)),
                           link);
    }
}

void ucs_rcache_pred_buckets_move(ucs_rcache_pred_buckets_t *buckets)
{
    unsigned i;

    for (i = 0; (i < MOVE_STEPS) && (buckets->old != NULL); ++i) {
        move_bucket(buckets);
        if (buckets->moved == ucs_rcache_pred_buckets_capacity(buckets) / 2) {
            buckets->empty = buckets->old;
            buckets->old   = NULL;
        }
    }
}
