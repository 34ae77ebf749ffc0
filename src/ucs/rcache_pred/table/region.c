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

/* How many regions are allocated at once. Their memory is not freed before the
 * table is: a late entry of the DQ may still point to a region that was
 * recycled, which shows in its generation. */
#define CHUNK_REGIONS 64

/* With so many regions, chunks become large: one huge page each, so that a hit
 * does not wait for the tables of pages, and the processor fetches regions ahead
 * across the end of a page */
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
    return (uintptr_t)ucs_container_of(link, ucs_rcache_pred_region_t,
                                       memh_link)->memh;
}

static int starts_before(const ucs_tree_node_t *node,
                         const ucs_tree_node_t *other)
{
    return ucs_tree_region(node)->known.start <
           ucs_tree_region(other)->known.start;
}

static int sum_branch(ucs_tree_node_t *node)
{
    ucs_rcache_pred_region_t *region = ucs_tree_region(node);
    uint64_t old_rank                = region->max_rank;
    int changed                      = 0;
    ucs_rcache_pred_range_kind_t kind;
    uintptr_t end;

    for (kind = 0; kind < UCS_RCACHE_PRED_RANGES; ++kind) {
        end      = ucs_max(ucs_rcache_pred_region_end(region, kind),
                           ucs_max(ucs_rcache_pred_branch_end(node->child[0],
                                                              kind),
                                   ucs_rcache_pred_branch_end(node->child[1],
                                                              kind)));
        changed |= (end != region->max_end[kind]);
        region->max_end[kind] = end;
    }

    region->max_rank = ucs_max(region->rank,
                               ucs_max(ucs_rcache_pred_branch_rank(
                                               node->child[0]),
                                       ucs_rcache_pred_branch_rank(
                                               node->child[1])));
    return changed || (region->max_rank != old_rank);
}

ucs_status_t ucs_rcache_pred_table_init(ucs_rcache_pred_table_t *table)
{
    ucs_status_t status;

    /* Two cache lines for hits */
    UCS_STATIC_ASSERT(ucs_offsetof(ucs_rcache_pred_region_t, begin) == 64);
    UCS_STATIC_ASSERT(ucs_offsetof(ucs_rcache_pred_region_t, start_link) ==
                      128);

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
            /* A process whose memory is limited may still have a few pages */
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

    node = ucs_tree_next(&region->tree_node);
    return (node == NULL) ? NULL : ucs_tree_region(node);
}

ucs_rcache_pred_region_t *
ucs_rcache_pred_table_from(const ucs_rcache_pred_table_t *table,
                           uintptr_t start)
{
    const ucs_tree_node_t *node = table->tree.root;
    ucs_rcache_pred_region_t *first         = NULL;
    ucs_rcache_pred_region_t *region;

    while (node != NULL) {
        region = ucs_tree_region(node);
        if (region->known.start >= start) {
            first = region;
            node  = node->child[0];
        } else {
            node  = node->child[1];
        }
    }

    return first;
}

ucs_rcache_pred_region_t *
ucs_rcache_pred_region_new(ucs_rcache_pred_table_t *table,
                           struct ucs_rcache_pred_domain *domain,
                           uintptr_t start, size_t length)
{
    ucs_rcache_pred_region_t *region, *next_noted;
    uint8_t noted;

    region = take_free(table);

    /* A region that was freed is still among those that were noted */
    noted      = region->noted;
    next_noted = region->next_noted;
    memset(region, 0, sizeof(*region));
    region->noted      = noted;
    region->next_noted = next_noted;
    region->generation = ++table->generations;
    region->domain     = domain;
    region->start      = start;
    region->registered = ucs_rcache_pred_range(start, length);
    region->known      = region->registered;
    region->state      = UCS_RCACHE_PRED_REGION_IDLE;
    region->referenced = 1;
    ucs_rcache_pred_forecast_init(&region->forecast);

    ucs_buckets_move(&table->by_start);
    ucs_buckets_move(&table->by_memh);
    ucs_ordered_add(&table->by_start, &region->start_link);
    ucs_tree_insert(&table->tree, &region->tree_node);
    ++table->count;
    return region;
}

void ucs_rcache_pred_region_introduce(ucs_rcache_pred_table_t *table,
                                      ucs_rcache_pred_region_t *region)
{
    if (!region->newcomer && !region->stale) {
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
    ucs_tree_remove(&table->tree, &region->tree_node);
    ucs_ordered_remove(&table->by_start, &region->start_link);
    if (region->clearing) {
        ucs_list_del(&region->list);
    }
    region->generation = 0;
    ucs_list_add_head(&table->free, &region->list);
    ++table->num_free;
}

void ucs_rcache_pred_region_set_memh(ucs_rcache_pred_table_t *table,
                                     ucs_rcache_pred_region_t *region,
                                     void *memh)
{
    region->memh    = memh;
    region->renewed = 1;
    region->evicted = 0;
    region->sliced  = 0;
    region->state   = UCS_RCACHE_PRED_REGION_REGISTERED;
    if (ucs_rcache_pred_region_is_merged(region)) {
        region->joined_until = 0; /* Until the helper gives it up again */
    }
    ucs_hlist_add_head(ucs_bucket(&table->by_memh, (uintptr_t)memh),
                       &region->memh_link);
}

void *ucs_rcache_pred_region_take_memh(ucs_rcache_pred_table_t *table,
                                       ucs_rcache_pred_region_t *region)
{
    void *memh = region->memh;

    ucs_hlist_del(ucs_bucket(&table->by_memh, (uintptr_t)memh),
                  &region->memh_link);
    region->memh        = NULL;
    region->ahead       = 0;
    region->maybe_spare = 0;
    region->touches     = 0;
    region->state       = UCS_RCACHE_PRED_REGION_IDLE;
    if (region->clearing) {
        /* Behind those that are still registered */
        ucs_list_del(&region->list);
        ucs_list_add_tail(&table->stale, &region->list);
    }
    ucs_tree_update(&table->tree, &region->tree_node);
    return memh;
}

void ucs_rcache_pred_region_clear(ucs_rcache_pred_table_t *table,
                                  ucs_rcache_pred_region_t *region)
{
    if (region->stale && !region->clearing && (region->refs == 0) &&
        (region->state != UCS_RCACHE_PRED_REGION_REGISTERING)) {
        region->clearing = 1;
        ucs_rcache_pred_region_settle(table, region);
        if (region->state == UCS_RCACHE_PRED_REGION_REGISTERED) {
            ucs_list_add_head(&table->stale, &region->list);
        } else {
            ucs_list_add_tail(&table->stale, &region->list);
        }
    }
}

ucs_rcache_pred_region_t *
ucs_rcache_pred_table_search_memh(const ucs_rcache_pred_table_t *table,
                                  const struct ucs_rcache_pred_domain *domain,
                                  const void *memh)
{
    ucs_rcache_pred_region_t *region;

    ucs_hlist_for_each(region,
                       ucs_bucket(&table->by_memh, (uintptr_t)memh),
                       memh_link) {
        if ((region->memh == memh) && (region->domain == domain)) {
            return region;
        }
    }

    return NULL;
}
