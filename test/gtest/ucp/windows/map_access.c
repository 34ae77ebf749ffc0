/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <ucp/windows/map.h>

#include "map_access.h"

#include <stdlib.h>


test_win_map_t *test_win_map_make(void)
{
    ucp_win_map_t *map = calloc(1, sizeof(*map));

    ucs_mutex_init(&map->lock, UCS_RANK_WIN_MAP, 0);
    return map;
}

void test_win_map_free(test_win_map_t *map)
{
    ucp_win_map_entry_t *entry, *next;
    unsigned i;

    for (i = 0; i < UCP_WIN_MAP_BUCKETS; ++i) {
        for (entry = map->buckets[i]; entry != NULL; entry = next) {
            next = entry->next;
            free(entry);
        }
    }
    ucs_mutex_destroy(&map->lock);
    free(map);
}

unsigned test_win_map_count(const test_win_map_t *map)
{
    unsigned count = 0;
    ucp_win_map_entry_t *entry;
    unsigned i;

    for (i = 0; i < UCP_WIN_MAP_BUCKETS; ++i) {
        for (entry = map->buckets[i]; entry != NULL; entry = entry->next) {
            ++count;
        }
    }

    return count;
}
