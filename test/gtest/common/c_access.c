/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "c_access.h"

#include <ucs/rcache_pred/table/known.h>
#include <ucs/rcache_pred/table/victim.h>
#include <ucs/rcache_pred/cache/cache.h>

#include <ucs/sys/math.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>


int test_pred_enter_lane(ucs_rcache_pred_t *pred)
{
    pred_lanes_t *lanes = atomic_load(&pred->lanes);
    pred_lane_t *lane   = (lanes == NULL) ? NULL : pred_lane_find(lanes);

    return (lane != NULL) && pred_lane_enter(pred, lane);
}

void test_pred_approach_lane(ucs_rcache_pred_t *pred)
{
    atomic_store(&pred_lane_find(atomic_load(&pred->lanes))->busy, 1);
}

void test_pred_leave_lane(ucs_rcache_pred_t *pred)
{
    pred_lane_leave(pred_lane_find(atomic_load(&pred->lanes)));
}

unsigned test_pred_num_lanes(ucs_rcache_pred_t *pred)
{
    pred_lanes_t *lanes = atomic_load(&pred->lanes);
    unsigned num;

    pred_lock(pred);
    num = (lanes == NULL) ? 0 : ucs_popcount(lanes->used);
    pred_unlock(pred);
    return num;
}

unsigned test_pred_num_in_lanes(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_region_t *region;
    unsigned num = 0;

    pred_lock(pred);
    for (region = ucs_rcache_pred_table_from(&pred->table, 0); region != NULL;
         region = ucs_rcache_pred_region_next(region)) {
        num += (region->extent.lane != 0);
    }
    pred_unlock(pred);
    return num;
}

unsigned test_pred_num_sites(ucs_rcache_pred_t *pred)
{
    const ucs_rcache_pred_site_table_t *sites = &pred->predictor.sites;
    unsigned count                            = 0;
    ucs_rcache_pred_site_t *site;
    unsigned i;

    for (i = 0; i <= sites->bucket_mask; ++i) {
        ucs_hlist_for_each(site, &sites->buckets[i], hash_link) {
            ++count;
        }
    }

    return count;
}

static unsigned queue_length(const ucs_rcache_pred_timeq_t *queue)
{
    unsigned length = 0;
    ucs_tree_node_t *node;

    for (node = ucs_tree_first(queue->tree.root); node != NULL;
         node = ucs_tree_next(node)) {
        ++length;
    }

    return length;
}

unsigned test_pred_rq_length(ucs_rcache_pred_t *pred)
{
    return queue_length(&pred->rounds.rq);
}

unsigned test_pred_awaited_length(ucs_rcache_pred_t *pred)
{
    return queue_length(&pred->rounds.awaited);
}

int test_pred_trust(ucs_rcache_pred_t *pred, uintptr_t start)
{
    ucs_rcache_pred_region_t *region;
    ucs_rcache_pred_site_t *site;

    ucs_hlist_for_each(region,
                       ucs_rcache_pred_start_bucket(&pred->table, start),
                       start_link) {
        if (region->start != start) {
            continue;
        }

        site = ucs_rcache_pred_site_find(&pred->predictor.sites, region->forecast.last_site);
        return (site == NULL) ? region->forecast.history.trust :
                                site->next.trust;
    }

    return INT_MIN;
}

static const char *validate_queue(ucs_rcache_pred_timeq_t *queue,
                                  int scheduled)
{
    ucs_rcache_pred_time_t last = 0;
    ucs_rcache_pred_timeq_elem_t *elem;
    ucs_rcache_pred_region_t *region;
    ucs_tree_node_t *node;

    for (node = ucs_tree_first(queue->tree.root); node != NULL;
         node = ucs_tree_next(node)) {
        elem   = ucs_container_of(node, ucs_rcache_pred_timeq_elem_t, node);
        region = ucs_container_of(elem, ucs_rcache_pred_region_t, queue_elem);
        if (elem->time < last) {
            return "a queue is not ordered by time";
        }
        if (!region->queued || (region->scheduled != scheduled)) {
            return "a region does not know which queue it is on";
        }
        last = elem->time;
    }

    return NULL;
}

static const char *validate_subsystems(const ucs_rcache_pred_stats_t *stats)
{
    uint64_t bytes   = 0;
    uint64_t regions = 0;
    unsigned i;

    for (i = 0; i < UCS_RCACHE_PRED_SUBSYSTEM_LAST; ++i) {
        bytes   += stats->subsystems[i].bytes_now;
        regions += stats->subsystems[i].regions_now;
    }

    return ((bytes != stats->bytes_now) || (regions != stats->regions_now)) ?
           "the subsystems do not add up to what is registered" : NULL;
}

/* Whether an unmap of the last byte of an extent would find the extent */
static int is_found_by_range(const ucs_rcache_pred_table_t *table,
                             const ucs_rcache_pred_extent_t *extent)
{
    ucs_rcache_pred_range_t last    = {
        .start = extent->known.end - 1,
        .end   = extent->known.end
    };
    ucs_rcache_pred_extent_t *found = NULL;

    do {
        found = ucs_rcache_pred_table_overlap(table, found, &last,
                                              UCS_RCACHE_PRED_RANGE_KNOWN);
    } while ((found != NULL) && (found != extent));
    return found == extent;
}

/* Count the entries of regions that there are still, and the lost regions */
static void count_entries(const ucs_rcache_pred_dq_t *dq, uint64_t *entries,
                          uint64_t *lost)
{
    const ucs_rcache_pred_dq_entry_t *entry;
    uint64_t i;

    for (i = dq->tail; i < dq->head; ++i) {
        entry     = &dq->entries[i & dq->mask];
        *entries += (entry->region->generation == entry->generation);
    }
    *lost += ucs_list_length((ucs_list_link_t*)&dq->lost);
}

/* Each region knows how many entries it has */
static const char *validate_dq(ucs_rcache_pred_t *pred)
{
    pred_lanes_t *lanes = atomic_load(&pred->lanes);
    uint64_t entries    = 0;
    uint64_t listed     = 0;
    uint64_t known      = 0;
    uint64_t lost       = 0;
    ucs_rcache_pred_region_t *region;
    unsigned i;

    count_entries(&pred->dq, &entries, &listed);
    for (i = 0; (lanes != NULL) && (i < PRED_LANES); ++i) {
        if (lanes->used & UCS_BIT(i)) {
            count_entries(&lanes->lanes[i].dq, &entries, &listed);
        }
    }

    for (region = ucs_rcache_pred_table_from(&pred->table, 0); region != NULL;
         region = ucs_rcache_pred_region_next(region)) {
        known += region->num_entries;
        lost  += region->lost;
    }

    return (known != entries) ? "a region does not know how many entries it has" :
           (lost != listed) ?
           "a lost region is not on the list" : NULL;
}

const char *test_pred_validate(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_table_t *table = &pred->table;
    uintptr_t last                 = 0;
    uint64_t bytes                 = 0;
    unsigned queued                = 0;
    unsigned count                 = 0;
    const ucs_rcache_pred_subsystem_stats_t *cache;
    ucs_rcache_pred_region_t *region;
    ucs_rcache_pred_extent_t *extent;
    const char *error;

    for (region = ucs_rcache_pred_table_from(table, 0); region != NULL;
         region = ucs_rcache_pred_region_next(region)) {
        extent  = &region->extent;
        queued += region->queued;
        ++count;
        error = ucs_rcache_pred_extent_broken(table, extent);
        if (error != NULL) {
            return error;
        }
        if (extent->known.start < last) {
            return "the table is not ordered by start";
        }
        if (!is_found_by_range(table, extent)) {
            return "a region is not found by its range";
        }
        if (!region->noted &&
            (extent->rank < ucs_rcache_pred_extent_get_rank(extent))) {
            return "a region would not give way when it should";
        }
        if (extent->stale && (region->refs == 0) && !extent->clearing) {
            return "a stale region would not be cleared away";
        }
        if (extent->state == UCS_RCACHE_PRED_EXTENT_REGISTERING) {
            return "a registration is under way";
        }
        if (extent->state == UCS_RCACHE_PRED_EXTENT_REGISTERED) {
            bytes += pred_page_bytes(pred, &extent->range);
            if (ucs_rcache_pred_table_find_memh(table, &table->memo,
                                                extent->domain,
                                                extent->memh) != extent) {
                return "the memo knows another region by the handle";
            }
        }
        last = extent->known.start;
    }

    if (count != table->count) {
        return "the table has not as many regions as it says";
    }

    /* What is registered for pieces belongs to no region, but is counted */
    cache = &pred->stats.subsystems[UCS_RCACHE_PRED_SUBSYSTEM_CACHE];
    if ((bytes > cache->bytes_now) ||
        ((bytes < cache->bytes_now) && (pred->bound.pieces_now == 0))) {
        return "bytes_now is not what the regions add up to";
    }

    error = validate_dq(pred);
    if (error != NULL) {
        return error;
    }

    if ((pred->bound.releasing > 0) ||
        (pred->bound.pieces_now > cache->regions_now)) {
        return "what is on its way out is not what is counted";
    }

    error = validate_subsystems(&pred->stats);
    if (error != NULL) {
        return error;
    }

    if (queued != (queue_length(&pred->rounds.rq) +
                   queue_length(&pred->rounds.awaited))) {
        return "the queues hold other regions than those that say so";
    }

    error = validate_queue(&pred->rounds.rq, 1);
    return (error != NULL) ? error : validate_queue(&pred->rounds.awaited, 0);
}


/* The linker routes these calls of the library through here (--wrap) */

static _Thread_local unsigned alloc_countdown;
static _Thread_local int alloc_failed;
static _Thread_local int thread_fails;
static _Atomic unsigned num_yields;
static _Thread_local void (*on_yield)(void *arg);
static _Thread_local void *on_yield_arg;

int __real_sched_yield(void);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*func)(void*), void *arg);
void *__real_malloc(size_t size);
void __real_free(void *ptr);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *ptr, size_t size);
int __real_posix_memalign(void **ptr, size_t alignment, size_t size);

void test_alloc_fail_nth(unsigned nth)
{
    alloc_countdown = nth;
    alloc_failed    = 0;
}

int test_alloc_failed(void)
{
    return alloc_failed;
}

/* A heap of its own, see c_access.h. What was freed is kept by its size, in steps
 * of a unit; large blocks, of which there are few, are not used again */
#define HEAP_UNIT    16
#define HEAP_CLASSES 256

typedef struct {
    size_t used;                  /* Bytes, this structure included */
    void   *freed[HEAP_CLASSES];  /* Lists through the first words */
} heap_t;

static _Thread_local heap_t *heap;      /* NULL: not in use */
static _Thread_local size_t  heap_size;

void test_heap_begin(void *memory, size_t size)
{
    heap      = memory;
    heap_size = size;
    *heap     = (heap_t){
        .used = (sizeof(*heap) + HEAP_UNIT - 1) / HEAP_UNIT * HEAP_UNIT
    };
}

size_t test_heap_end(void)
{
    size_t used = heap->used;

    heap = NULL;
    return used;
}

void test_heap_resume(void *memory, size_t size)
{
    heap      = memory;
    heap_size = size;
}

static void *heap_alloc(size_t size)
{
    size_t units = (size / HEAP_UNIT) + 2; /* One for its number of units */
    size_t *block;

    block = (units < HEAP_CLASSES) ? heap->freed[units] : NULL;
    if (block != NULL) {
        heap->freed[units] = *(void**)block;
    } else {
        if (heap->used + (units * HEAP_UNIT) > heap_size) {
            abort();
        }
        block       = UCS_PTR_BYTE_OFFSET(heap, heap->used);
        heap->used += units * HEAP_UNIT;
    }

    *block = units;
    return UCS_PTR_BYTE_OFFSET(block, HEAP_UNIT);
}

static int heap_has(const void *ptr)
{
    return (heap != NULL) && (ptr > (const void*)heap) &&
           (ptr < UCS_PTR_BYTE_OFFSET(heap, heap_size));
}

static void heap_free(void *ptr)
{
    size_t *block = UCS_PTR_BYTE_OFFSET(ptr, -HEAP_UNIT);
    size_t units  = *block;

    if (units < HEAP_CLASSES) {
        *(void**)block     = heap->freed[units];
        heap->freed[units] = block;
    }
}

static int alloc_is_due(void)
{
    if ((alloc_countdown == 0) || (--alloc_countdown > 0)) {
        return 0;
    }

    alloc_failed = 1;
    return 1;
}

void *__wrap_malloc(size_t size)
{
    return alloc_is_due() ? NULL :
           (heap != NULL) ? heap_alloc(size) : __real_malloc(size);
}

void __wrap_free(void *ptr)
{
    if (heap_has(ptr)) {
        heap_free(ptr);
    } else {
        __real_free(ptr);
    }
}

void *__wrap_calloc(size_t count, size_t size)
{
    void *memory;

    if (alloc_is_due()) {
        return NULL;
    }

    if (heap == NULL) {
        return __real_calloc(count, size);
    }

    memory = heap_alloc(count * size);
    return memset(memory, 0, count * size);
}

void *__wrap_realloc(void *ptr, size_t size)
{
    return alloc_is_due() ? NULL : __real_realloc(ptr, size);
}

int __wrap_posix_memalign(void **ptr, size_t alignment, size_t size)
{
    return alloc_is_due() ? ENOMEM :
                            __real_posix_memalign(ptr, alignment, size);
}

void test_thread_fail(void)
{
    thread_fails = 1;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*func)(void*), void *arg)
{
    if (thread_fails) {
        thread_fails = 0;
        return EAGAIN;
    }

    return __real_pthread_create(thread, attr, func, arg);
}

unsigned test_num_yields(void)
{
    return num_yields;
}

void test_on_yield(void (*cb)(void *arg), void *arg)
{
    on_yield     = cb;
    on_yield_arg = arg;
}

int __wrap_sched_yield(void)
{
    void (*cb)(void *arg) = on_yield;

    ++num_yields;
    if (cb != NULL) {
        on_yield = NULL;
        cb(on_yield_arg);
    }
    return __real_sched_yield();
}
