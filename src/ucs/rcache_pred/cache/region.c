/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "region.h"

#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>

/* How many regions are allocated at once. Their memory is not freed before the
 * table is: a late entry of the DQ may still point to a region that was
 * recycled, which shows in its generation. */
#define CHUNK_REGIONS 64


typedef struct ucs_rcache_pred_chunk {
    ucs_list_link_t          list;
    ucs_rcache_pred_region_t regions[CHUNK_REGIONS];
} ucs_rcache_pred_chunk_t;


ucs_status_t ucs_rcache_pred_table_init(ucs_rcache_pred_table_t *table)
{
    memset(table, 0, sizeof(*table));
    ucs_list_head_init(&table->free);
    ucs_list_head_init(&table->chunks);

    table->by_start = calloc(UCS_RCACHE_PRED_TABLE_BUCKETS,
                             sizeof(*table->by_start));
    if (table->by_start == NULL) {
        goto err;
    }

    table->by_memh = calloc(UCS_RCACHE_PRED_TABLE_BUCKETS,
                            sizeof(*table->by_memh));
    if (table->by_memh == NULL) {
        goto err_free_by_start;
    }

    return UCS_OK;

err_free_by_start:
    free(table->by_start);
err:
    return UCS_ERR_NO_MEMORY;
}

void ucs_rcache_pred_table_cleanup(ucs_rcache_pred_table_t *table)
{
    while (!ucs_list_is_empty(&table->chunks)) {
        free(ucs_list_extract_head(&table->chunks, ucs_rcache_pred_chunk_t,
                                   list));
    }
    free(table->sorted);
    free(table->by_memh);
    free(table->by_start);
}

ucs_status_t
ucs_rcache_pred_room_alloc(ucs_rcache_pred_room_t *room, unsigned capacity)
{
    void *chunk;

    if (posix_memalign(&chunk, UCS_RCACHE_PRED_REGION_ALIGN,
                       sizeof(*room->chunk)) != 0) {
        goto err;
    }

    memset(chunk, 0, sizeof(*room->chunk));
    room->chunk    = chunk;
    room->capacity = ucs_max(2 * capacity, 256u);
    room->sorted   = malloc(room->capacity * sizeof(*room->sorted));
    if (room->sorted == NULL) {
        goto err_free_chunk;
    }

    return UCS_OK;

err_free_chunk:
    free(room->chunk);
err:
    return UCS_ERR_NO_MEMORY;
}

void ucs_rcache_pred_room_give(ucs_rcache_pred_table_t *table,
                               ucs_rcache_pred_room_t *room)
{
    ucs_rcache_pred_region_t **sorted;
    unsigned i;

    if (table->num_free == 0) {
        for (i = 0; i < CHUNK_REGIONS; ++i) {
            ucs_list_add_tail(&table->free,
                              &room->chunk->regions[i].queue_elem.list);
        }
        table->num_free += CHUNK_REGIONS;
        ucs_list_add_tail(&table->chunks, &room->chunk->list);
        room->chunk = NULL;
    }

    if ((table->count == table->capacity) &&
        (room->capacity > table->capacity)) {
        for (i = 0; i < table->count; ++i) {
            room->sorted[i] = table->sorted[i];
        }
        sorted          = table->sorted;
        table->sorted   = room->sorted;
        table->capacity = room->capacity;
        room->sorted    = sorted;
    }
}

void ucs_rcache_pred_room_release(ucs_rcache_pred_room_t *room)
{
    free(room->chunk);
    free(room->sorted);
}

/* @return the lowest index in sorted of a region that starts at or after @a
 *         start. */
static unsigned
table_lower_bound(const ucs_rcache_pred_table_t *table, uintptr_t start)
{
    unsigned low = 0, high = table->count, mid;

    while (low < high) {
        mid = low + (high - low) / 2;
        if (table->sorted[mid]->start < start) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }

    return low;
}

unsigned ucs_rcache_pred_table_first(const ucs_rcache_pred_table_t *table,
                                     uintptr_t start)
{
    return (start <= table->max_length) ?
           0 : table_lower_bound(table, start - table->max_length);
}

ucs_rcache_pred_region_t *
ucs_rcache_pred_region_new(ucs_rcache_pred_table_t *table,
                           struct ucs_rcache_pred_domain *domain,
                           uintptr_t start, size_t length)
{
    unsigned pos = table_lower_bound(table, start);
    ucs_rcache_pred_region_t *region;

    region = ucs_list_extract_head(&table->free, ucs_rcache_pred_region_t,
                                   queue_elem.list);
    --table->num_free;

    memset(region, 0, sizeof(*region));
    region->generation = ++table->generations;
    region->domain     = domain;
    region->start      = start;
    region->state      = UCS_RCACHE_PRED_REGION_IDLE;
    region->referenced = 1;
    region->deadline   = UCS_RCACHE_PRED_TIME_INF;
    ucs_rcache_pred_forecast_init(&region->forecast);

    memmove(&table->sorted[pos + 1], &table->sorted[pos],
            (table->count - pos) * sizeof(*table->sorted));
    table->sorted[pos] = region;
    ++table->count;

    ucs_hlist_add_head(ucs_rcache_pred_start_bucket(table, start),
                       &region->start_link);
    ucs_rcache_pred_region_set_length(table, region, length);
    return region;
}

void ucs_rcache_pred_region_free(ucs_rcache_pred_table_t *table,
                                 ucs_rcache_pred_region_t *region)
{
    unsigned pos = table_lower_bound(table, region->start);

    while (table->sorted[pos] != region) {
        ++pos; /* This is another region with the same start */
    }

    --table->count;
    memmove(&table->sorted[pos], &table->sorted[pos + 1],
            (table->count - pos) * sizeof(*table->sorted));

    ucs_hlist_del(ucs_rcache_pred_start_bucket(table, region->start),
                  &region->start_link);
    region->generation = 0;
    ucs_list_add_head(&table->free, &region->queue_elem.list);
    ++table->num_free;
}

void ucs_rcache_pred_region_set_memh(ucs_rcache_pred_table_t *table,
                                     ucs_rcache_pred_region_t *region,
                                     void *memh)
{
    region->memh  = memh;
    region->state = UCS_RCACHE_PRED_REGION_REGISTERED;
    ucs_hlist_add_head(&table->by_memh[ucs_rcache_pred_hash((uintptr_t)memh)],
                       &region->memh_link);
}

void *ucs_rcache_pred_region_take_memh(ucs_rcache_pred_table_t *table,
                                       ucs_rcache_pred_region_t *region)
{
    void *memh = region->memh;

    ucs_hlist_del(&table->by_memh[ucs_rcache_pred_hash((uintptr_t)memh)],
                  &region->memh_link);
    region->memh  = NULL;
    region->ahead = 0;
    region->state = UCS_RCACHE_PRED_REGION_IDLE;
    return memh;
}

size_t
ucs_rcache_pred_region_expected_length(const ucs_rcache_pred_region_t *region)
{
    size_t length = 0;
    unsigned i;

    for (i = 0; i < UCS_RCACHE_PRED_RECENT_LENGTHS; ++i) {
        length = ucs_max(length, region->lengths[i]);
    }

    return length;
}
