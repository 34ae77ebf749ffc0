/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_REGION_H_
#define UCS_RCACHE_PRED_REGION_H_

#include "extent.h"

#include <ucs/base/buckets.h>
#include <ucs/rcache_pred/predict/policy.h>
#include <ucs/rcache_pred/predict/predict.h>
#include <ucs/rcache_pred/predict/timeq.h>

#include <ucs/datastruct/hlist.h>
#include <ucs/datastruct/list.h>
#include <ucs/sys/compiler_def.h>

/** @file region.h
 *
 * Regions, and the table in which they are found by start address, by handle, and by
 * overlap with a range (known.h). The functions take no lock: the caller holds the lock
 * of the cache, unless a comment says otherwise. Only ucs_rcache_pred_table_init() and
 * ucs_rcache_pred_room_alloc() allocate memory.
 */

/** Ahead of a use, the helper registers a region from the first to the last byte that was
 *  used during its last 25 to 32 registrations, and with all access that was needed then.
 *  A region has 4 records of what was used, and each record is of 8 registrations. If
 *  both ends of the used range differ at random from one use to the next, the next use
 *  lies within the registered range in about 15 cases of 16. */
#define UCS_RCACHE_PRED_RECENT       4
#define UCS_RCACHE_PRED_RECENT_TIMES 8


/** Regions are aligned to cache lines, so that the fields that every use reads
 *  take as few lines as possible. */
#define UCS_RCACHE_PRED_REGION_ALIGN 64


/**
 * A buffer: memory that the program uses again and again. A region is identified by its
 * domain and by where its first use started. So a buffer that is used with several
 * lengths is one region, and so is a buffer whose uses have most of their bytes in
 * common. A use inside of the registered memory of a region is a use of that region,
 * wherever the use starts. The extent of a region says what of the memory is registered.
 *
 * The lock of the cache protects the fields. A thread in its lane writes those of a use
 * without the lock, see cache/lanes.h; helper_mutex protects those at the end, which only
 * the helper uses.
 */
typedef struct ucs_rcache_pred_region {
    /* The begin and the end of a hit touch the first two cache lines of a region, and
     * write the first one. With thousands of regions a hit has to wait for each line that
     * it touches: so the fields that no hit needs come after these lines.
     *
     * The next three fields are of the last use that found the region idle. Of uses that
     * are under way at the same time, it is the one that came first. The field used also
     * has the ranges of the others */
    ucs_rcache_pred_time_t         begin;
    ucs_rcache_pred_context_t      context;
    ucs_rcache_pred_range_t        used;

    unsigned                       use_access;  /**< Access that the uses under
                                                     way need; without such uses,
                                                     the access that the last ones
                                                     needed */
    uint32_t                       refs;        /**< Number of uses under way, of
                                                     any part of the extent, plus 1
                                                     for a guard. It cannot wrap:
                                                     no machine has the memory for
                                                     the state of 2^32 uses */
    uint32_t                       num_entries; /**< How many entries the region
                                                     has in the DQ and in the
                                                     queues of lanes */
    uint8_t                        referenced;  /**< Not 0: used since the
                                                     clock's hand passed this
                                                     region */
    uint8_t                        noted;       /**< Not 0: in the list
                                                     table->noted, or in the list
                                                     noted of its lane */
    uint8_t                        lost;        /**< Not 0: in the list lost of a
                                                     queue. The helper shall look
                                                     at the region, whose last use
                                                     may have no entry */

    /* The second cache line. A hit only reads it, and so do other threads that pass this
     * region by as they look for their own regions */
    uintptr_t                      start;       /**< Where its first use
                                                     started. Constant */
    uint64_t                       generation;  /**< Number of the region, which
                                                     no other region ever has;
                                                     0: the region is free */
    ucs_rcache_pred_extent_t       extent;      /**< What of it is registered */

    /* A lookup reads the links of the regions that it passes by, but not the link of the
     * region that it finds: so the links come after the two cache lines of a hit */
    ucs_hlist_link_t               start_link;
    struct ucs_rcache_pred_region  *next_noted; /**< The next one that is
                                                     noted */
    ucs_list_link_t                list;        /**< Element of table->free or of
                                                     table->newcomers */
    ucs_list_link_t                lost_link;   /**< Element of dq.lost; valid
                                                     if lost is not 0 */
    ucs_rcache_pred_time_t         interval;    /**< From the begin of its last
                                                     use to when the next one is
                                                     expected, as the helper has
                                                     last decided; INF: none is,
                                                     or it never has */
    unsigned                       in_pieces;   /**< Uses in pieces under way */
    unsigned                       recent_access; /**< Access that any of the
                                                     recent uses needed. The
                                                     helper writes it */
    uint8_t                        scheduled;   /**< Not 0: waits in the
                                                     registration queue */
    uint8_t                        newcomer;    /**< Not 0: in
                                                     table->newcomers */
    uint8_t                        foretold;    /**< Not 0: the interval is a
                                                     prediction, and no guess */

    /* Only the helper uses these */
    uint8_t                        last_recent; /**< Index of the newest record in
                                                     recent */
    uint8_t                        recent_times; /**< Of how many registrations the
                                                      newest record is so far */
    uint8_t                        queued;      /**< Not 0: on the registration
                                                     queue or on the awaited
                                                     list */
    uint8_t                        set_aside;   /**< Not 0: prepaid was set aside,
                                                     and not paid */
    uint8_t                        kept;        /**< Not 0: the region is on the
                                                     awaited list only to be decided
                                                     about again: it was kept for
                                                     lack of budget, or its burst
                                                     goes on. No predicted use is
                                                     awaited */
    ucs_rcache_pred_range_t        recent[UCS_RCACHE_PRED_RECENT];
                                                /**< What was used recently;
                                                     empty: nothing yet */
    size_t                         others;      /**< Of the region of a burst: how
                                                     many bytes the slices have
                                                     besides the one that is
                                                     expected to be used first */
    ucs_rcache_pred_time_t         span;        /**< Of the region of a burst: time
                                                     between the first and the last
                                                     begin of the uses in one
                                                     burst, when the slices were
                                                     joined, ns; else 0 */
    ucs_rcache_pred_time_t         burst;       /**< Of the region of a burst: when
                                                     the present burst began; 0:
                                                     there is no burst now */
    ucs_rcache_pred_time_t         join_after;  /**< Before this time the helper
                                                     does not join the region with
                                                     slices */
    ucs_rcache_pred_time_t         learned;     /**< Begin of the last use that
                                                     the helper has learned of;
                                                     0: it has learned of no use
                                                     yet */
    ucs_rcache_pred_time_t         prepaid;     /**< What the budget has paid, or
                                                     set aside, for the next
                                                     registration, ns, when the
                                                     helper gave the region up; 0
                                                     once the region was registered
                                                     ahead or used */
    uint32_t                       num_joined;  /**< How many slices the burst
                                                     has; 0: the region is not that
                                                     of a burst. Constant */
    uint32_t                       missing;     /**< What parts of the expected
                                                     memory the last uses have left
                                                     out; of the region of a burst,
                                                     the last bursts. See
                                                     helper/burst.c */
    ucs_rcache_pred_timeq_elem_t   queue_elem UCS_V_ALIGNED(64);
                                                /**< Element of the registration
                                                     queue or of the awaited
                                                     list */
    unsigned                       accesses[UCS_RCACHE_PRED_RECENT];
                                                /**< Access that the recent uses
                                                     needed */
    uint32_t                       epoch;       /**< The last epoch in which a use
                                                     of the region was counted, see
                                                     helper/seat.c */
    ucs_rcache_pred_forecast_t     forecast;    /**< Histories of the region's
                                                     uses, for predictions */

    /* Under the lock */
    ucs_rcache_pred_own_t          own_reg;     /**< Own cost of its
                                                     registrations */
    ucs_rcache_pred_own_t          own_dereg;   /**< Likewise, of its
                                                     deregistrations */
} UCS_V_ALIGNED(UCS_RCACHE_PRED_REGION_ALIGN) ucs_rcache_pred_region_t;


/** @return the region of an extent. */
static inline ucs_rcache_pred_region_t *
ucs_rcache_pred_region_of(const ucs_rcache_pred_extent_t *extent)
{
    return ucs_container_of(extent, ucs_rcache_pred_region_t, extent);
}

/** @return whether an extent is in use, or guarded. */
static inline int
ucs_rcache_pred_extent_is_used(const ucs_rcache_pred_extent_t *extent)
{
    return ucs_rcache_pred_region_of(extent)->refs > 0;
}

/** @return whether an extent is that of a burst of slices, see helper/join.c. */
static inline int
ucs_rcache_pred_extent_is_burst(const ucs_rcache_pred_extent_t *extent)
{
    return ucs_rcache_pred_region_of(extent)->num_joined > 0;
}

/** @return whether an extent was merged with others, see helper/merge.c. */
static inline int
ucs_rcache_pred_extent_is_merged(const ucs_rcache_pred_extent_t *extent)
{
    return (extent->joined.end != 0) &&
           !ucs_rcache_pred_extent_is_burst(extent);
}


/** A list of regions, linked through next_noted. */
typedef struct ucs_rcache_pred_noted {
    ucs_rcache_pred_region_t *first; /**< NULL: there is none */
    ucs_rcache_pred_region_t *last;
} ucs_rcache_pred_noted_t;


/** How many extents a memo has room for, as a power of 2. */
#define UCS_RCACHE_PRED_MEMO_BITS 6

/** Extents of uses that began lately, by their handles. Most uses end before many others
 *  have begun, and the end of such a use finds the extent here, in a few cache lines that
 *  stay in the processor's own cache. A search in the buckets of thousands of extents
 *  would wait for a cache line. A memo may still have an extent that is no longer
 *  registered, or whose region is free: whoever finds the extent looks at its state. */
typedef struct ucs_rcache_pred_memo {
    ucs_rcache_pred_extent_t *extents[1 << UCS_RCACHE_PRED_MEMO_BITS];
} ucs_rcache_pred_memo_t;


/** With how many buckets a table begins, as a power of 2. */
#define UCS_RCACHE_PRED_TABLE_BITS 14

/** The table of all regions. */
typedef struct ucs_rcache_pred_table {
    ucs_buckets_t by_start;
    ucs_buckets_t by_memh;
    ucs_rcache_pred_memo_t    memo;      /**< Of uses that began under the
                                              lock */
    ucs_tree_t    tree;      /**< All extents, ordered by the start
                                              of their known ranges */
    unsigned                  count;     /**< Number of regions in the table */
    unsigned                  num_free;  /**< Number of regions in the list free,
                                              plus those from fresh on to the end
                                              of the last chunk */
    uint64_t                  generations; /**< The last number that a region got
                                                as its generation, or a use in
                                                pieces as its id; from 1 */
    uint64_t                  claims;    /**< How often extents became REGISTERING
                                              so far */
    ucs_list_link_t           free;      /**< Regions that were freed */
    ucs_rcache_pred_region_t  *fresh;    /**< The first region of the last chunk
                                              that was never used. It and the ones
                                              after it are in no list, since to
                                              link a whole chunk would take long
                                              under the lock */
    ucs_list_link_t           stale;     /**< Stale extents, whose regions are to
                                              be cleared away: no use and no
                                              registration of them is under way.
                                              Those that are still registered
                                              come first */
    ucs_list_link_t           newcomers; /**< Regions of which the helper has
                                              learned one use only, the oldest
                                              first. None of them is stale, except
                                              a region that is being forgotten */
    unsigned                  num_newcomers; /**< Number of regions in
                                              newcomers */
    ucs_rcache_pred_noted_t   noted;     /**< Regions whose rank may be too low,
                                              see victim.h */
    ucs_list_link_t           chunks;    /**< The memory of all regions */
} ucs_rcache_pred_table_t;


/** Room for one more region in the table, which is allocated without the
 *  lock. */
typedef struct ucs_rcache_pred_room {
    int                          wants_chunk; /**< Not 0: the table has no free
                                                   region */
    int                          large_chunk; /**< Not 0: a new chunk takes a huge
                                                   page */
    int                          wants_start; /**< Not 0: the table needs more
                                                   buckets by start */
    int                          wants_memh;  /**< Not 0: the table needs more
                                                   buckets by handle */
    int                          crowded; /**< Not 0: the table wants more buckets
                                               by start only because too many regions
                                               share a bucket, and can go on without
                                               them */
    unsigned                     start_capacity; /**< For how many regions the
                                                      table had buckets by start
                                                      when room was asked for */
    unsigned                     memh_capacity;  /**< For how many it had buckets
                                                      by handle then */
    struct ucs_rcache_pred_chunk *chunk;    /**< New memory for regions, or NULL */
    ucs_hlist_head_t             *by_start; /**< Buckets to give or to free */
    ucs_hlist_head_t             *by_memh;  /**< Buckets to give or to free */
} ucs_rcache_pred_room_t;


/** Initialize an empty table. Allocates memory. */
ucs_status_t ucs_rcache_pred_table_init(ucs_rcache_pred_table_t *table);

/** Free a table, and all regions with it. */
void ucs_rcache_pred_table_cleanup(ucs_rcache_pred_table_t *table);

/** @return whether one more region needs more buckets by start. */
static inline int
ucs_rcache_pred_table_wants_start(const ucs_rcache_pred_table_t *table)
{
    return (table->count >=
            ucs_buckets_capacity(&table->by_start)) ||
           ucs_ordered_is_crowded(&table->by_start);
}

/** @return whether one more region needs more buckets by handle. These buckets cannot
 *          grow again before the last growth is complete: then they are not asked to. */
static inline int
ucs_rcache_pred_table_wants_memh(const ucs_rcache_pred_table_t *table)
{
    return (table->count >=
            ucs_buckets_capacity(&table->by_memh)) &&
           (table->by_memh.old == NULL);
}

/** @return whether @ref ucs_rcache_pred_region_new would find room. */
static inline int
ucs_rcache_pred_table_has_room(const ucs_rcache_pred_table_t *table)
{
    return (table->num_free > 0) &&
           !ucs_rcache_pred_table_wants_start(table) &&
           !ucs_rcache_pred_table_wants_memh(table);
}

/**
 * Make room in the table. This takes four steps, since nothing may be allocated
 * or freed under the lock: ask under the lock what is needed, allocate it
 * without the lock, give it to the table under the lock, and free without the
 * lock what the table did not need or has given back.
 */
void ucs_rcache_pred_room_ask(const ucs_rcache_pred_table_t *table,
                              ucs_rcache_pred_room_t *room);
ucs_status_t ucs_rcache_pred_room_alloc(ucs_rcache_pred_room_t *room);
void ucs_rcache_pred_room_give(ucs_rcache_pred_table_t *table,
                               ucs_rcache_pred_room_t *room);
void ucs_rcache_pred_room_release(ucs_rcache_pred_room_t *room);


/** Add a new region, which is not registered, to the table. There must be
 *  room. */
ucs_rcache_pred_region_t *
ucs_rcache_pred_region_new(ucs_rcache_pred_table_t *table,
                           struct ucs_rcache_pred_domain *domain,
                           uintptr_t start, size_t length);

/** Remove a region from the table. The region must be idle, on no queue, and
 *  without call sites. */
void ucs_rcache_pred_region_free(ucs_rcache_pred_table_t *table,
                                 ucs_rcache_pred_region_t *region);

/** The helper has learned of the first use of a region: let the region be a newcomer from
 *  now on, unless it is stale. */
void ucs_rcache_pred_region_introduce(ucs_rcache_pred_table_t *table,
                                      ucs_rcache_pred_region_t *region);

/** The program has used a region again, or the region is to be cleared away: if it is a
 *  newcomer, let it be no newcomer any more. */
void ucs_rcache_pred_region_settle(ucs_rcache_pred_table_t *table,
                                   ucs_rcache_pred_region_t *region);

/** Make a REGISTERING extent REGISTERED, and let it be found by its handle. No
 *  other extent of the domain may have the same handle. */
void ucs_rcache_pred_extent_set_memh(ucs_rcache_pred_table_t *table,
                                     ucs_rcache_pred_extent_t *extent,
                                     void *memh);

/** Make a REGISTERED extent IDLE, and let nobody find it by its handle any more. @return
 *  the handle. */
void *ucs_rcache_pred_extent_take_memh(ucs_rcache_pred_table_t *table,
                                       ucs_rcache_pred_extent_t *extent);

/** @return the first region whose known range starts at @a start or later, or
 *  NULL. With @ref ucs_rcache_pred_region_next, a caller goes over all regions. A
 *  caller that releases the lock in between calls this function again, with the
 *  start of the known range of the region that comes next. */
ucs_rcache_pred_region_t *
ucs_rcache_pred_table_from(const ucs_rcache_pred_table_t *table,
                           uintptr_t start);

/** @return the region after @a region in the order of the starts of known ranges, or
 *          NULL. */
ucs_rcache_pred_region_t *
ucs_rcache_pred_region_next(ucs_rcache_pred_region_t *region);

/** If a region is stale, and no use and no registration of it is under way, put it on
 *  the list of regions that the helper clears away. To be called when a region has become
 *  stale, and when a use or a registration of a stale region has ended. */
void ucs_rcache_pred_region_clear(ucs_rcache_pred_table_t *table,
                                  ucs_rcache_pred_region_t *region);

/** @return which of the invariants in docs/design/regions.md an extent of the table
 *          breaks; NULL: none. */
const char *ucs_rcache_pred_extent_broken(const ucs_rcache_pred_table_t *table,
                                          const ucs_rcache_pred_extent_t *extent);

/** @return the bucket with the regions that start at @a start, among others. */
static inline ucs_hlist_head_t *
ucs_rcache_pred_start_bucket(const ucs_rcache_pred_table_t *table,
                             uintptr_t start)
{
    return ucs_ordered_bucket(&table->by_start, start);
}

/** @return the index of a handle in a memo. */
static inline unsigned ucs_rcache_pred_memo_place(const void *memh)
{
    /* A cheap hash is enough: if two handles have the same index, the extent of one of
     * them is found in the buckets */
    return ucs_hash_word((uintptr_t)memh) >>
           (64 - UCS_RCACHE_PRED_MEMO_BITS);
}

/** A use of a registered extent begins: put the extent into a memo, in place of the one
 *  that has the same index. */
static inline void ucs_rcache_pred_memo_add(ucs_rcache_pred_memo_t *memo,
                                            ucs_rcache_pred_extent_t *extent)
{
    memo->extents[ucs_rcache_pred_memo_place(extent->memh)] = extent;
}

/** Search the buckets for the extent that is registered with this handle in this
 *  domain. @return NULL if there is none. */
ucs_rcache_pred_extent_t *
ucs_rcache_pred_table_search_memh(const ucs_rcache_pred_table_t *table,
                                  const struct ucs_rcache_pred_domain *domain,
                                  const void *memh);

/** @return the extent that is registered with this handle in this domain, or
 *  NULL.
 *  @param [in] memo  Where to look first. */
static UCS_F_ALWAYS_INLINE ucs_rcache_pred_extent_t *
ucs_rcache_pred_table_find_memh(const ucs_rcache_pred_table_t *table,
                                const ucs_rcache_pred_memo_t *memo,
                                const struct ucs_rcache_pred_domain *domain,
                                const void *memh)
{
    ucs_rcache_pred_extent_t *extent;

    extent = memo->extents[ucs_rcache_pred_memo_place(memh)];
    return (ucs_likely(extent != NULL) && ucs_likely(extent->memh == memh) &&
            ucs_likely(extent->domain == domain) &&
            ucs_likely(extent->state == UCS_RCACHE_PRED_EXTENT_REGISTERED)) ?
           extent : ucs_rcache_pred_table_search_memh(table, domain, memh);
}

/** @return when the next use of the region is expected; INF: no use is. Until the helper
 *          decides about the region, a use is expected as long after the last one as the
 *          helper last expected. */
static inline ucs_rcache_pred_time_t
ucs_rcache_pred_region_deadline(const ucs_rcache_pred_region_t *region)
{
    return (region->interval == UCS_RCACHE_PRED_TIME_INF) ?
           UCS_RCACHE_PRED_TIME_INF : (region->begin + region->interval);
}

/** Set when the next use of the region is expected. */
static inline void
ucs_rcache_pred_region_set_deadline(ucs_rcache_pred_region_t *region,
                                    ucs_rcache_pred_time_t deadline)
{
    region->interval = (deadline == UCS_RCACHE_PRED_TIME_INF) ?
                       UCS_RCACHE_PRED_TIME_INF :
                       (ucs_max(deadline, region->begin) - region->begin);
}

#endif
