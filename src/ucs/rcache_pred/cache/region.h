/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_REGION_H_
#define UCS_RCACHE_PRED_REGION_H_

#include <ucs/base/hash.h>
#include <ucs/rcache_pred/predict/predict.h>
#include <ucs/rcache_pred/predict/timeq.h>

#include <ucs/datastruct/hlist.h>
#include <ucs/datastruct/list.h>
#include <ucs/sys/compiler_def.h>

/** @file region.h
 *
 * Regions and the table they are found in: by start address, by handle, and by
 * overlap with a range. None of the functions locks or, but for the two that
 * say so, allocates.
 */

/** A region's length ahead of a use is the longest of so many recent uses. */
#define UCS_RCACHE_PRED_RECENT_LENGTHS 4


/** A cache line: what every use looks at takes as few of them as can be. */
#define UCS_RCACHE_PRED_REGION_ALIGN 64


typedef enum {
    UCS_RCACHE_PRED_REGION_IDLE,        /**< Not registered */
    UCS_RCACHE_PRED_REGION_REGISTERING, /**< Somebody registers it, without the
                                             lock; others wait */
    UCS_RCACHE_PRED_REGION_REGISTERED
} ucs_rcache_pred_region_state_t;


/** Somebody who waits for an invalidated region's last use to end. */
typedef struct ucs_rcache_pred_waiter {
    struct ucs_rcache_pred_waiter *next;
    void                          (*cb)(void *arg);
    void                          *arg;
} ucs_rcache_pred_waiter_t;


/**
 * A piece of memory that was used. Identified by domain and start address: a
 * buffer that is used with several lengths stays one region.
 *
 * Fields are protected by the cache's lock, but for those of the helper, which
 * only whoever holds the helper's mutex touches.
 */
typedef struct ucs_rcache_pred_region {
    /* Looked at by every use */
    ucs_hlist_link_t               start_link;
    ucs_hlist_link_t               memh_link;   /**< While REGISTERED */
    struct ucs_rcache_pred_domain  *domain;
    uintptr_t                      start;
    size_t                         length;      /**< Registered, or last */
    void                           *memh;       /**< While REGISTERED */
    unsigned                       access;      /**< Access it allows, or last
                                                     allowed */
    uint32_t                       refs;        /**< Uses under way */
    uint8_t                        state;       /**< region_state_t */
    uint8_t                        stale;       /**< Unmapped or invalidated:
                                                     serves no new use */
    uint8_t                        scheduled;   /**< Waits in the RQ */
    uint8_t                        ahead;       /**< Registered by the helper
                                                     and not used yet */
    uint8_t                        referenced;  /**< Used since the clock's
                                                     hand passed by */

    /* The use under way: that which found refs at 0 */
    uint64_t                       generation;  /**< No other region ever has
                                                     the same; 0: free */
    ucs_rcache_pred_time_t         begin;
    ucs_rcache_pred_context_t      context;
    size_t                         use_length;

    unsigned                       in_pieces;   /**< Uses in pieces under way */
    unsigned                       flags;       /**< Of the last use */
    ucs_rcache_pred_time_t         registered_at; /**< By the helper */
    ucs_rcache_pred_time_t         early_after; /**< A first use later than this
                                                     after registered_at was
                                                     prepared too early */
    ucs_rcache_pred_time_t         deadline;    /**< Next use expected; INF:
                                                     none, or the last one has
                                                     not been decided about.
                                                     Written by a use and the
                                                     helper, read by eviction */
    ucs_rcache_pred_waiter_t       *waiters;

    /* Helper only */
    ucs_rcache_pred_timeq_elem_t   queue_elem;  /**< In the RQ or the awaited list */
    uint8_t                        queued;
    unsigned                       num_lengths; /**< Lengths ever recorded */
    size_t                         lengths[UCS_RCACHE_PRED_RECENT_LENGTHS];
    uint32_t                       epoch;       /**< Last one its use was
                                                     counted in, see
                                                     pred_note_demand() */
    ucs_rcache_pred_forecast_t     forecast;    /**< Of its next use */
} UCS_V_ALIGNED(UCS_RCACHE_PRED_REGION_ALIGN) ucs_rcache_pred_region_t;


#define UCS_RCACHE_PRED_TABLE_BUCKETS 16384u

/** All regions. */
typedef struct ucs_rcache_pred_table {
    ucs_hlist_head_t         *by_start;
    ucs_hlist_head_t         *by_memh;
    ucs_rcache_pred_region_t **sorted;   /**< By start */
    unsigned                 count;      /**< Regions in @ref sorted */
    unsigned                 capacity;   /**< Of @ref sorted */
    unsigned                 num_free;   /**< Regions in @ref free */
    size_t                   max_length; /**< Of any region there was */
    uint64_t                 generations; /**< Numbers given out so far */
    ucs_list_link_t          free;       /**< Through queue_elem */
    ucs_list_link_t          chunks;     /**< Memory of the regions */
} ucs_rcache_pred_table_t;


/** Room for one more region; allocated without the lock. */
typedef struct ucs_rcache_pred_room {
    struct ucs_rcache_pred_chunk *chunk;
    ucs_rcache_pred_region_t     **sorted;
    unsigned                     capacity;
} ucs_rcache_pred_room_t;


/** Allocates. */
ucs_status_t ucs_rcache_pred_table_init(ucs_rcache_pred_table_t *table);

void ucs_rcache_pred_table_cleanup(ucs_rcache_pred_table_t *table);

/** Whether @ref ucs_rcache_pred_region_new finds room. */
static inline int
ucs_rcache_pred_table_has_room(const ucs_rcache_pred_table_t *table)
{
    return (table->num_free > 0) && (table->count < table->capacity);
}

/**
 * Making room takes three steps, since nothing may be allocated or released
 * under the lock: allocate (without it), give to the table (with it), release
 * what the table did not need or gave back (without it).
 */
ucs_status_t ucs_rcache_pred_room_alloc(ucs_rcache_pred_room_t *room,
                                        unsigned capacity);
void ucs_rcache_pred_room_give(ucs_rcache_pred_table_t *table,
                               ucs_rcache_pred_room_t *room);
void ucs_rcache_pred_room_release(ucs_rcache_pred_room_t *room);


/** A new region, not registered, in the table. There must be room. */
ucs_rcache_pred_region_t *
ucs_rcache_pred_region_new(ucs_rcache_pred_table_t *table,
                           struct ucs_rcache_pred_domain *domain,
                           uintptr_t start, size_t length);

/** Take an idle region, on no queue and with no call sites, out of the table. */
void ucs_rcache_pred_region_free(ucs_rcache_pred_table_t *table,
                                 ucs_rcache_pred_region_t *region);

/** Find it by handle from now on. The handle must not be in the table. */
void ucs_rcache_pred_region_set_memh(ucs_rcache_pred_table_t *table,
                                     ucs_rcache_pred_region_t *region,
                                     void *memh);

/** @return the handle, which nobody finds any more. */
void *ucs_rcache_pred_region_take_memh(ucs_rcache_pred_table_t *table,
                                       ucs_rcache_pred_region_t *region);

/** @return index in table->sorted of the first region that can overlap a range
 *          starting at @a start. */
unsigned ucs_rcache_pred_table_first(const ucs_rcache_pred_table_t *table,
                                     uintptr_t start);

/** Longest of the recent uses. */
size_t
ucs_rcache_pred_region_expected_length(const ucs_rcache_pred_region_t *region);


/** The region reaches so far from now on. Not while it is registered. */
static inline void
ucs_rcache_pred_region_set_length(ucs_rcache_pred_table_t *table,
                                  ucs_rcache_pred_region_t *region,
                                  size_t length)
{
    region->length = length;
    if (length > table->max_length) {
        table->max_length = length;
    }
}


static inline unsigned ucs_rcache_pred_hash(uint64_t key)
{
    return ucs_rcache_pred_hash_bits(key, 14);
}

static inline ucs_hlist_head_t *
ucs_rcache_pred_start_bucket(const ucs_rcache_pred_table_t *table,
                             uintptr_t start)
{
    return &table->by_start[ucs_rcache_pred_hash(start)];
}

/** @return the region registered with this handle in this domain, or NULL. */
static inline ucs_rcache_pred_region_t *
ucs_rcache_pred_table_find_memh(const ucs_rcache_pred_table_t *table,
                                const struct ucs_rcache_pred_domain *domain,
                                const void *memh)
{
    ucs_rcache_pred_region_t *region;

    ucs_hlist_for_each(region,
                       &table->by_memh[ucs_rcache_pred_hash((uintptr_t)memh)],
                       memh_link) {
        if ((region->memh == memh) && (region->domain == domain)) {
            return region;
        }
    }

    return NULL;
}

/** Whether the region can serve a use, if it is registered. */
static inline int
ucs_rcache_pred_region_covers(const ucs_rcache_pred_region_t *region,
                              size_t length, unsigned access)
{
    return (region->length >= length) && ((access & ~region->access) == 0);
}

#endif
