/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "map.h"

#include <ucs/base/relaxed.h>

#include <stdlib.h>

/* Places of the first table, as a power of 2: room for 32 handles */
#define FIRST_BITS 6


/* Relaxed, here and below: the caller has the lock, under which all is written */
static ucs_map_table_t *get_table(const ucs_map_t *map)
{
    return ucs_relaxed_load(&map->table);
}

static const void *get_key(ucs_map_table_t *table, size_t index)
{
    return ucs_relaxed_load(&ucs_map_place(table, index)->key);
}

static void fill(ucs_map_place_t *place, const void *key, void *value)
{
    ucs_relaxed_store(&place->value, value);
    atomic_store_explicit(&place->key, key, memory_order_release);
}

/* Enter a handle that the table does not have, and has room for */
static void insert(ucs_map_table_t *table, const void *key, void *value)
{
    size_t i = ucs_hash_bits((uintptr_t)key, table->bits);

    while ((get_key(table, i) != NULL) && (get_key(table, i) != UCS_MAP_LEFT)) {
        ++i;
    }

    table->used += (get_key(table, i) == NULL);
    fill(ucs_map_place(table, i), key, value);
}

/* Replace the table by one twice as large. @return NULL if there is no memory. */
static ucs_map_table_t *grow(ucs_map_t *map)
{
    ucs_map_table_t *old = get_table(map);
    unsigned bits        = (old == NULL) ? FIRST_BITS : (old->bits + 1);
    ucs_map_table_t *table;
    const void *key;
    size_t i;

    table = calloc(1, sizeof(*table) + (sizeof(*table->places) << bits));
    if (table == NULL) {
        return NULL;
    }

    table->bits     = bits;
    table->outgrown = old;
    for (i = 0; (old != NULL) && (i < (1ul << old->bits)); ++i) {
        key = get_key(old, i);
        if ((key != NULL) && (key != UCS_MAP_LEFT)) {
            insert(table, key, ucs_relaxed_load(&old->places[i].value));
        }
    }

    atomic_store_explicit(&map->table, table, memory_order_release);
    return table;
}

ucs_status_t ucs_map_put(ucs_map_t *map, const void *key, void *value)
{
    ucs_status_t status    = UCS_OK;
    ucs_map_place_t *place = NULL;
    ucs_map_table_t *table;

    ucs_mutex_lock(&map->lock);
    table = get_table(map);
    if (table != NULL) {
        place = ucs_map_search(table, key);
    }

    if ((place != NULL) && (ucs_relaxed_load(&place->key) == key)) {
        fill(place, key, value);
        goto out;
    }

    /* Half of the places stay free, so that searches are short and end */
    if ((table == NULL) || (table->used >= (1ul << table->bits) / 2)) {
        table = grow(map);
    }
    if (table == NULL) {
        status = UCS_ERR_NO_MEMORY;
        goto out;
    }
    insert(table, key, value);

out:
    ucs_mutex_unlock(&map->lock);
    return status;
}

/* Empty the place of a handle. If the next place has the key NULL (never used), no
 * search needs to go beyond the emptied place: its key becomes NULL, too, and so do
 * the keys of emptied places right before it. So a table in which handles come and
 * go does not fill up */
static void empty(ucs_map_table_t *table, ucs_map_place_t *place)
{
    /* Plus the size of the table: i - 1 is never below 0, and ucs_map_place()
     * takes the index modulo the size */
    size_t i = (place - table->places) + (1ul << table->bits);

    fill(place, UCS_MAP_LEFT, NULL);
    while ((get_key(table, i + 1) == NULL) && (get_key(table, i) == UCS_MAP_LEFT)) {
        fill(ucs_map_place(table, i--), NULL, NULL);
        --table->used;
    }
}

void *ucs_map_take(ucs_map_t *map, const void *key)
{
    void *value = NULL;
    ucs_map_table_t *table;
    ucs_map_place_t *place;

    ucs_mutex_lock(&map->lock);
    table = get_table(map);
    if (table != NULL) {
        place = ucs_map_search(table, key);
        value = ucs_relaxed_load(&place->value);
        if (value != NULL) {
            empty(table, place);
        }
    }
    ucs_mutex_unlock(&map->lock);
    return value;
}

void ucs_map_forked(ucs_map_t *map, ucs_rank_t rank)
{
    ucs_mutex_init(&map->lock, rank, 0);
}

void ucs_map_cleanup(ucs_map_t *map)
{
    ucs_map_table_t *table = get_table(map);
    ucs_map_table_t *outgrown;

    for (; table != NULL; table = outgrown) {
        outgrown = table->outgrown;
        free(table);
    }
    ucs_mutex_destroy(&map->lock);
}
