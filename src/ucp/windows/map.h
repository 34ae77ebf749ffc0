/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_WIN_MAP_H_
#define UCP_WIN_MAP_H_

#include <ucs/base/mutex.h>
#include <ucs/type/status.h>

#include <stdatomic.h>

/** @file map.h
 *
 * What belongs to a handle of UCP, for handles that come and go seldom and are
 * looked up with each operation. A look-up takes no lock. Pure.
 *
 * An entry stays where it is for good, and is used again for another handle of
 * the same bucket: who walks along a bucket never meets freed memory. A handle
 * must not be taken out while another thread looks it up, as it may not be
 * destroyed then.
 */

#define UCP_WIN_MAP_BITS    10
#define UCP_WIN_MAP_BUCKETS (1 << UCP_WIN_MAP_BITS)


typedef struct ucp_win_map_entry {
    _Atomic(const void*)     key;   /**< NULL: free. Written under the lock of
                                         the map, after @a value, with
                                         release */
    _Atomic(void*)           value; /**< Relaxed: @a key orders it */
    struct ucp_win_map_entry *next; /**< Does not change */
} ucp_win_map_entry_t;


typedef struct ucp_win_map {
    ucs_mutex_t                   lock; /**< Of those who change it */
    /** Written under the lock with release */
    _Atomic(ucp_win_map_entry_t*) buckets[UCP_WIN_MAP_BUCKETS];
} ucp_win_map_t;

#define UCP_WIN_MAP_INITIALIZER \
    {.lock = UCS_MUTEX_INITIALIZER(UCS_RANK_WIN_MAP)}


/** @return what belongs to a handle, or NULL: nothing belongs to NULL. */
void *ucp_win_map_find(const ucp_win_map_t *map, const void *key);

/** Let something belong to a handle, in place of what may have belonged to it.
 *
 *  @return UCS_OK or UCS_ERR_NO_MEMORY. */
ucs_status_t
ucp_win_map_put(ucp_win_map_t *map, const void *key, void *value);

/** @return what has belonged to a handle until now, or NULL. */
void *ucp_win_map_take(ucp_win_map_t *map, const void *key);

#endif
