/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "map.h"

#include <ucs/base/hash.h>

#include <stdint.h>
#include <stdlib.h>


static unsigned bucket_of(const void *key)
{
    return ucs_rcache_pred_hash_bits((uintptr_t)key, UCP_WIN_MAP_BITS);
}

/* The entry of a handle, or NULL; of NULL, a free one, whose value was another handle's */
static ucp_win_map_entry_t *
find_entry(const ucp_win_map_t *map, unsigned bucket, const void *key)
{
    ucp_win_map_entry_t *entry;

    entry = atomic_load_explicit(&map->buckets[bucket], memory_order_acquire);
    while ((entry != NULL) &&
           (atomic_load_explicit(&entry->key, memory_order_acquire) != key)) {
        entry = entry->next;
    }

    return entry;
}

void *ucp_win_map_find(const ucp_win_map_t *map, const void *key)
{
    ucp_win_map_entry_t *entry = find_entry(map, bucket_of(key), key);

    return ((entry == NULL) || (key == NULL)) ?
                   NULL : atomic_load_explicit(&entry->value,
                                               memory_order_relaxed);
}

/* Under the lock. @return an entry in a bucket that is used for nothing, or
 * NULL */
static ucp_win_map_entry_t *new_entry(ucp_win_map_t *map, unsigned bucket)
{
    ucp_win_map_entry_t *entry = find_entry(map, bucket, NULL);

    if (entry != NULL) {
        return entry;
    }

    entry = calloc(1, sizeof(*entry));
    if (entry == NULL) {
        return NULL;
    }

    entry->next = atomic_load_explicit(&map->buckets[bucket],
                                       memory_order_relaxed);
    atomic_store_explicit(&map->buckets[bucket], entry, memory_order_release);
    return entry;
}

ucs_status_t
ucp_win_map_put(ucp_win_map_t *map, const void *key, void *value)
{
    unsigned bucket = bucket_of(key);
    ucp_win_map_entry_t *entry;

    ucs_mutex_lock(&map->lock);
    entry = find_entry(map, bucket, key);
    if (entry == NULL) {
        entry = new_entry(map, bucket);
    }
    if (entry != NULL) {
        atomic_store_explicit(&entry->value, value, memory_order_relaxed);
        atomic_store_explicit(&entry->key, key, memory_order_release);
    }
    ucs_mutex_unlock(&map->lock);
    return (entry == NULL) ? UCS_ERR_NO_MEMORY : UCS_OK;
}

void *ucp_win_map_take(ucp_win_map_t *map, const void *key)
{
    void *value = NULL;
    ucp_win_map_entry_t *entry;

    ucs_mutex_lock(&map->lock);
    entry = find_entry(map, bucket_of(key), key);
    if ((entry != NULL) && (key != NULL)) {
        value = atomic_load_explicit(&entry->value, memory_order_relaxed);
        atomic_store_explicit(&entry->key, NULL, memory_order_relaxed);
    }
    ucs_mutex_unlock(&map->lock);
    return value;
}
