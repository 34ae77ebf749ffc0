/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_MAP_H_
#define UCS_MAP_H_

#include "hash.h"
#include "mutex.h"

#include <ucs/base/relaxed.h>
#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stdatomic.h>
#include <stddef.h>

BEGIN_C_DECLS

/** @file map.h
 *
 * A map from handles to pointers, for handles that come and go seldom and are looked up
 * with each operation. Writers hold the lock of the map. Readers take no lock.
 *
 * The map is a hash table with linear probing. A table that has become too small stays in
 * memory, unchanged, since another thread may still be reading it.
 *
 * A thread may look up a handle while other threads put and take other handles. The caller
 * ensures that nobody takes a handle out while another thread looks up the same handle:
 * programs do not destroy handles that are in use.
 */

/** A place of a table. A reader that sees a key (acquire) sees the value of that key, since
 *  the writer stores the key last (release). Written under the lock of the map. */
typedef struct ucs_map_place {
    _Atomic(const void*) key;   /**< NULL: never used; UCS_MAP_LEFT: taken out */
    _Atomic(void*)       value; /**< Relaxed; NULL if no handle is here */
} ucs_map_place_t;

/** The key of a place whose handle was taken out: no handle has this key, and a search
 *  goes on behind such a place. */
#define UCS_MAP_LEFT ((const void*)1)

/** A table. Only the functions below use it. */
typedef struct ucs_map_table {
    struct ucs_map_table *outgrown; /**< The table before this one, or NULL: kept so that
                                         tools do not report a leak */
    unsigned             bits;      /**< 2^bits places. Constant */
    size_t               used;      /**< Places whose key is not NULL. Under the lock */
    ucs_map_place_t      places[];
} ucs_map_table_t;

/** A map. */
typedef struct ucs_map {
    ucs_mutex_t               lock;  /**< Held by writers, even while they
                                          allocate memory */
    _Atomic(ucs_map_table_t*) table; /**< NULL: empty. Written under the lock, with
                                          release */
} ucs_map_t;

/** A map whose lock has this rank. */
#define UCS_MAP_INITIALIZER(_rank) {UCS_MUTEX_INITIALIZER(_rank), NULL}


/** @return the place at an index of a table. */
static UCS_F_ALWAYS_INLINE ucs_map_place_t *
ucs_map_place(ucs_map_table_t *table, size_t index)
{
    return &table->places[index & ((1ul << table->bits) - 1)];
}

/** Find the place of a handle in a table. @return the place of the handle, or the place,
 *  with the key NULL, where the search for the handle ends. */
static UCS_F_ALWAYS_INLINE ucs_map_place_t *
ucs_map_search(ucs_map_table_t *table, const void *key)
{
    size_t i = ucs_hash_bits((uintptr_t)key, table->bits);
    ucs_map_place_t *place;
    const void *found;

    /* At least half of the places have the key NULL */
    for (;; ++i) {
        place = ucs_map_place(table, i);
        found = atomic_load_explicit(&place->key, memory_order_acquire);
        if (ucs_likely(found == key) || (found == NULL)) {
            return place;
        }
    }
}

/** Look up a handle that is in the map. Any thread; takes no lock.
 *
 *  @param [in] key  A handle that was put and not taken, so that the map has a table.
 *  @return the value of the handle. */
static UCS_F_ALWAYS_INLINE void *
ucs_map_get(const ucs_map_t *map, const void *key)
{
    /* Acquire: the table was filled in before it was published */
    ucs_map_table_t *table = atomic_load_explicit(&map->table,
                                                  memory_order_acquire);

    return ucs_relaxed_load(&ucs_map_search(table, key)->value);
}

/** Look up any handle. Any thread; takes no lock.
 *
 *  @return the value of the handle; NULL if the map does not have the handle, or the handle
 *          is NULL. */
static UCS_F_ALWAYS_INLINE void *
ucs_map_find(const ucs_map_t *map, const void *key)
{
    /* Acquire: see ucs_map_get() */
    ucs_map_table_t *table = atomic_load_explicit(&map->table,
                                                  memory_order_acquire);
    ucs_map_place_t *place;

    if ((table == NULL) || (key == NULL)) {
        return NULL;
    }

    /* A search that finds no handle ends at a free place, where another thread may be
     * entering a handle, and has stored the value, but not yet the key */
    place = ucs_map_search(table, key);
    return (atomic_load_explicit(&place->key, memory_order_acquire) == key) ?
           ucs_relaxed_load(&place->value) : NULL;
}

/** Give a handle a value; if the map has the handle already, the new value replaces the
 *  old one. Any thread.
 *
 *  @param [in] key    Neither NULL nor UCS_MAP_LEFT.
 *  @param [in] value  Not NULL.
 *  @return UCS_OK or UCS_ERR_NO_MEMORY. */
ucs_status_t ucs_map_put(ucs_map_t *map, const void *key, void *value);

/** Take a handle out of the map. Any thread. @return the value of the handle; NULL if the
 *  map does not have the handle. */
void *ucs_map_take(ucs_map_t *map, const void *key);

/** Make the lock of a map anew in a forked child, which has no other thread
 *  yet: a thread that only the parent has may have held the lock at the fork.
 *  The map keeps its handles.
 *  @param [in] rank  The rank of the lock. */
void ucs_map_forked(ucs_map_t *map, ucs_rank_t rank);

/** Free the tables of a map that no thread uses any more. */
void ucs_map_cleanup(ucs_map_t *map);

END_C_DECLS

#endif
