/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "region.h"

#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* How many regions are allocated at once. Their memory stays until the whole table is
 * freed: a late entry of the DQ may still point to a region that was freed and used for
 * another buffer. The generation of the region shows that. */
#define CHUNK_REGIONS 64

/* Once the table has so many regions, each new chunk takes one huge page. Then a hit does
 * not wait for the processor's look-up of the page, and the processor can fetch regions
 * ahead across the ends of small pages */
#define LARGE_CHUNK_FROM 2048
#define LARGE_CHUNK_SIZE (2ul << 20)


typedef struct ucs_rcache_pred_chunk {
    ucs_list_link_t          list;
    unsigned                 count; /* Of regions */
    ucs_rcache_pred_region_t regions[];
} ucs_rcache_pred_chunk_t;


static uint64_t start_key(const ucs_hlist_link_t *link)
{
    return ucs_container_of(link, ucs_rcache_pred_region_t, start_link)->start;
}

static uint64_t memh_key(const ucs_hlist_link_t *link)
{
    return (uintptr_t)ucs_container_of(link, ucs_rcache_pred_extent_t,
                                       memh_link)->memh;
}

static int starts_before(const ucs_tree_node_t *node,
                         const ucs_tree_node_t *other)
{
    return ucs_tree_extent(node)->known.start <
           ucs_tree_extent(other)->known.start;
}

static int sum_branch(ucs_tree_node_t *node)
{
    ucs_rcache_pred_extent_t *extent = ucs_tree_extent(node);
    uint64_t old_rank                = extent->max_rank;
    int changed                      = 0;
    ucs_rcache_pred_range_kind_t kind;
    uintptr_t end;

    for (kind = 0; kind < UCS_RCACHE_PRED_RANGES; ++kind) {
        end      = ucs_max(ucs_rcache_pred_extent_end(extent, kind),
                           ucs_max(ucs_rcache_pred_branch_end(node->child[0],
                                                              kind),
                                   ucs_rcache_pred_branch_end(node->child[1],
                                                              kind)));
        changed |= (end != extent->max_end[kind]);
        extent->max_end[kind] = end;
    }

    extent->max_rank = ucs_max(extent->rank,
                               ucs_max(ucs_rcache_pred_branch_rank(
                                               node->child[0]),
                                       ucs_rcache_pred_branch_rank(
                                               node->child[1])));
    return changed || (extent->max_rank != old_rank);
}

ucs_status_t ucs_rcache_pred_table_init(ucs_rcache_pred_table_t *table)
{
    ucs_status_t status;

    /* The fields of hits fill two cache lines, and those that a search reads of each
     * extent that it passes by fill one */
    UCS_STATIC_ASSERT(ucs_offsetof(ucs_rcache_pred_region_t, start) == 64);
    UCS_STATIC_ASSERT(ucs_offsetof(ucs_rcache_pred_region_t, extent.memh_link) == 128);
    UCS_STATIC_ASSERT(ucs_offsetof(ucs_rcache_pred_region_t, extent.tree_node) == 192);
    UCS_STATIC_ASSERT(ucs_offsetof(ucs_rcache_pred_region_t, extent.max_rank) == 256);

    memset(table, 0, sizeof(*table));
    ucs_tree_init(&table->tree, starts_before, sum_branch);
    ucs_list_head_init(&table->free);
    ucs_list_head_init(&table->stale);
    ucs_list_head_init(&table->newcomers);
    ucs_list_head_init(&table->chunks);

    status = ucs_buckets_init_ordered(&table->by_start,
                                                  UCS_RCACHE_PRED_TABLE_BITS,
                                                  start_key);
    if (status != UCS_OK) {
        goto err;
    }

    status = ucs_buckets_init(&table->by_memh,
                                          UCS_RCACHE_PRED_TABLE_BITS, memh_key);
    if (status != UCS_OK) {
        goto err_cleanup_by_start;
    }

    return UCS_OK;

err_cleanup_by_start:
    ucs_buckets_cleanup(&table->by_start);
err:
    return status;
}

void ucs_rcache_pred_table_cleanup(ucs_rcache_pred_table_t *table)
{
    while (!ucs_list_is_empty(&table->chunks)) {
        free(ucs_list_extract_head(&table->chunks, ucs_rcache_pred_chunk_t,
                                   list));
    }
    ucs_buckets_cleanup(&table->by_memh);
    ucs_buckets_cleanup(&table->by_start);
}

void ucs_rcache_pred_room_ask(const ucs_rcache_pred_table_t *table,
                              ucs_rcache_pred_room_t *room)
{
    memset(room, 0, sizeof(*room));
    room->wants_chunk    = (table->num_free == 0);
    room->large_chunk    = (table->count >= LARGE_CHUNK_FROM);
    room->wants_start    = ucs_rcache_pred_table_wants_start(table);
    room->wants_memh     = ucs_rcache_pred_table_wants_memh(table);
    room->start_capacity = ucs_buckets_capacity(&table->by_start);
    room->memh_capacity  = ucs_buckets_capacity(&table->by_memh);
    room->crowded        = (table->count < room->start_capacity);
}

/* @return a chunk of memory for regions, or NULL */
static ucs_rcache_pred_chunk_t *alloc_chunk(int is_large)
{
    size_t size = is_large ? LARGE_CHUNK_SIZE :
                             (sizeof(ucs_rcache_pred_chunk_t) +
                              CHUNK_REGIONS * sizeof(ucs_rcache_pred_region_t));
    ucs_rcache_pred_chunk_t *chunk;
    void *memory;

    if (posix_memalign(&memory,
                       is_large ? size : UCS_RCACHE_PRED_REGION_ALIGN,
                       size) != 0) {
        return NULL;
    }

    if (is_large) {
        /* If the system has no huge page, small ones will do */
        (void)madvise(memory, size, MADV_HUGEPAGE);
    }

    chunk        = memset(memory, 0, size);
    chunk->count = (size - sizeof(*chunk)) / sizeof(chunk->regions[0]);
    return chunk;
}

/* @return whether there is memory for the buckets that the table cannot do without */
static int alloc_buckets(ucs_rcache_pred_room_t *room)
{
    if (room->wants_start) {
        room->by_start = ucs_buckets_alloc(room->start_capacity);
        if ((room->by_start == NULL) && !room->crowded) {
            return 0;
        }
    }

    if (room->wants_memh) {
        room->by_memh = ucs_buckets_alloc(room->memh_capacity);
        if (room->by_memh == NULL) {
            free(room->by_start);
            return 0;
        }
    }

    return 1;
}

ucs_status_t ucs_rcache_pred_room_alloc(ucs_rcache_pred_room_t *room)
{
    if (room->wants_chunk) {
        room->chunk = alloc_chunk(room->large_chunk);
        if ((room->chunk == NULL) && room->large_chunk) {
            /* Try a small chunk: a process whose memory is limited may still get that */
            room->chunk = alloc_chunk(0);
        }
        if (room->chunk == NULL) {
            return UCS_ERR_NO_MEMORY;
        }
    }

    if (!alloc_buckets(room)) {
        free(room->chunk);
        return UCS_ERR_NO_MEMORY;
    }

    return UCS_OK;
}

static void give_chunk(ucs_rcache_pred_table_t *table,
                       ucs_rcache_pred_chunk_t *chunk)
{
    ucs_list_add_tail(&table->chunks, &chunk->list);
    table->fresh    = chunk->regions;
    table->num_free = chunk->count;
}

/* @return a region that was freed, or one that never was used. There must be one */
static ucs_rcache_pred_region_t *take_free(ucs_rcache_pred_table_t *table)
{
    --table->num_free;
    return ucs_list_is_empty(&table->free) ?
           table->fresh++ :
           ucs_list_extract_head(&table->free, ucs_rcache_pred_region_t, list);
}

void ucs_rcache_pred_room_give(ucs_rcache_pred_table_t *table,
                               ucs_rcache_pred_room_t *room)
{
    if ((room->chunk != NULL) && (table->num_free == 0)) {
        give_chunk(table, room->chunk);
        room->chunk = NULL;
    }

    if (room->wants_start && (room->by_start == NULL)) {
        ucs_ordered_put_up(&table->by_start);
    }
    room->by_start = ucs_buckets_grow(&table->by_start,
                                                  room->by_start,
                                                  room->start_capacity);
    room->by_memh  = ucs_buckets_grow(&table->by_memh,
                                                  room->by_memh,
                                                  room->memh_capacity);
}

void ucs_rcache_pred_room_release(ucs_rcache_pred_room_t *room)
{
    free(room->chunk);
    free(room->by_start);
    free(room->by_memh);
}

ucs_rcache_pred_region_t *
ucs_rcache_pred_region_next(ucs_rcache_pred_region_t *region)
{
    ucs_tree_node_t *node;

    node = ucs_tree_next(&region->extent.tree_node);
    return (node == NULL) ? NULL : ucs_rcache_pred_region_of(ucs_tree_extent(node));
}

ucs_rcache_pred_region_t *
ucs_rcache_pred_table_from(const ucs_rcache_pred_table_t *table,
                           uintptr_t start)
{
    const ucs_tree_node_t *node     = table->tree.root;
    ucs_rcache_pred_extent_t *first = NULL;
    ucs_rcache_pred_extent_t *extent;

    while (node != NULL) {
        extent = ucs_tree_extent(node);
        if (extent->known.start >= start) {
            first = extent;
            node  = node->child[0];
        } else {
            node  = node->child[1];
        }
    }

    return (first == NULL) ? NULL : ucs_rcache_pred_region_of(first);
}

ucs_rcache_pred_region_t *
ucs_rcache_pred_region_new(ucs_rcache_pred_table_t *table,
                           struct ucs_rcache_pred_domain *domain,
                           uintptr_t start, size_t length)
{
    ucs_rcache_pred_region_t *region = take_free(table);
    ucs_rcache_pred_extent_t *extent = &region->extent;
    ucs_rcache_pred_region_t *next_noted;
    uint8_t noted;

    /* A freed region may still be in a list of noted regions: keep its place there */
    noted      = region->noted;
    next_noted = region->next_noted;
    memset(region, 0, sizeof(*region));
    region->noted      = noted;
    region->next_noted = next_noted;
    region->generation = ++table->generations;
    region->interval   = UCS_RCACHE_PRED_TIME_INF;
    region->start      = start;
    region->referenced = 1;
    extent->domain     = domain;
    extent->range      = ucs_rcache_pred_range(start, length);
    extent->known      = extent->range;
    extent->state      = UCS_RCACHE_PRED_EXTENT_IDLE;
    ucs_rcache_pred_forecast_init(&region->forecast);

    ucs_buckets_move(&table->by_start);
    ucs_buckets_move(&table->by_memh);
    ucs_ordered_add(&table->by_start, &region->start_link);
    ucs_tree_insert(&table->tree, &extent->tree_node);
    ++table->count;
    return region;
}

void ucs_rcache_pred_region_introduce(ucs_rcache_pred_table_t *table,
                                      ucs_rcache_pred_region_t *region)
{
    if (!region->newcomer && !region->extent.stale) {
        region->newcomer = 1;
        ucs_list_add_tail(&table->newcomers, &region->list);
        ++table->num_newcomers;
    }
}

void ucs_rcache_pred_region_settle(ucs_rcache_pred_table_t *table,
                                   ucs_rcache_pred_region_t *region)
{
    if (region->newcomer) {
        region->newcomer = 0;
        ucs_list_del(&region->list);
        --table->num_newcomers;
    }
}

void ucs_rcache_pred_region_free(ucs_rcache_pred_table_t *table,
                                 ucs_rcache_pred_region_t *region)
{
    --table->count;
    ucs_rcache_pred_region_settle(table, region);
    ucs_tree_remove(&table->tree, &region->extent.tree_node);
    ucs_ordered_remove(&table->by_start, &region->start_link);
    if (region->extent.clearing) {
        ucs_list_del(&region->extent.stale_link);
    }
    region->generation = 0;
    ucs_list_add_head(&table->free, &region->list);
    ++table->num_free;
}

void ucs_rcache_pred_extent_set_memh(ucs_rcache_pred_table_t *table,
                                     ucs_rcache_pred_extent_t *extent,
                                     void *memh)
{
    extent->memh         = memh;
    extent->renewed      = 1;
    extent->evicted      = 0;
    extent->sliced       = 0;
    extent->merged_until = 0; /* See pred_merge_given_up() */
    extent->state        = UCS_RCACHE_PRED_EXTENT_REGISTERED;
    ucs_hlist_add_head(ucs_bucket(&table->by_memh, (uintptr_t)memh),
                       &extent->memh_link);
}

void *ucs_rcache_pred_extent_take_memh(ucs_rcache_pred_table_t *table,
                                       ucs_rcache_pred_extent_t *extent)
{
    void *memh = extent->memh;

    ucs_hlist_del(ucs_bucket(&table->by_memh, (uintptr_t)memh),
                  &extent->memh_link);
    extent->memh        = NULL;
    extent->ahead       = 0;
    extent->maybe_spare = 0;
    extent->touches     = 0;
    extent->state       = UCS_RCACHE_PRED_EXTENT_IDLE;
    if (extent->clearing) {
        /* Behind the stale extents that are still registered */
        ucs_list_del(&extent->stale_link);
        ucs_list_add_tail(&table->stale, &extent->stale_link);
    }
    ucs_tree_update(&table->tree, &extent->tree_node);
    return memh;
}

void ucs_rcache_pred_region_clear(ucs_rcache_pred_table_t *table,
                                  ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_extent_t *extent = &region->extent;

    if (extent->stale && !extent->clearing && (region->refs == 0) &&
        (extent->state != UCS_RCACHE_PRED_EXTENT_REGISTERING)) {
        extent->clearing = 1;
        ucs_rcache_pred_region_settle(table, region);
        if (extent->state == UCS_RCACHE_PRED_EXTENT_REGISTERED) {
            ucs_list_add_head(&table->stale, &extent->stale_link);
        } else {
            ucs_list_add_tail(&table->stale, &extent->stale_link);
        }
    }
}

ucs_rcache_pred_extent_t *
ucs_rcache_pred_table_search_memh(const ucs_rcache_pred_table_t *table,
                                  const struct ucs_rcache_pred_domain *domain,
                                  const void *memh)
{
    ucs_rcache_pred_extent_t *extent;

    ucs_hlist_for_each(extent,
                       ucs_bucket(&table->by_memh, (uintptr_t)memh),
                       memh_link) {
        if ((extent->memh == memh) && (extent->domain == domain)) {
            return extent;
        }
    }

    return NULL;
}
