/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_REGION_H_
#define UCS_RCACHE_PRED_REGION_H_

#include "extent.h"

#include <ucs/base/buckets.h>
#include <ucs/rcache_pred/predict/predict.h>
#include <ucs/rcache_pred/predict/timeq.h>

#include <ucs/datastruct/hlist.h>
#include <ucs/datastruct/list.h>
#include <ucs/sys/compiler_def.h>

/** @file region.h
 *
 * Regions, and the table in which they are found by start address, by handle,
 * and, see known.h, by overlap with a range. The functions take no lock: the caller holds the
 * cache's, unless their comment says otherwise. Only
 * ucs_rcache_pred_table_init() and ucs_rcache_pred_room_alloc() allocate
 * memory.
 */

/** Ahead of a use, a region is registered from the first to the last byte that was used
 *  while the region was registered the last 25 to 32 times, and with the access that any of
 *  these uses needed. A region has 4 records of what was used, and each record is of 8
 *  times of registration. If both ends of the used range differ at random from one use
 *  to the next, the next use lies within what the last 25 to 32 reached in about 15 cases
 *  of 16. */
#define UCS_RCACHE_PRED_RECENT       4
#define UCS_RCACHE_PRED_RECENT_TIMES 8


/** Regions are aligned to cache lines, so that the fields that every use reads
 *  take as few lines as possible. */
#define UCS_RCACHE_PRED_REGION_ALIGN 64


/**
 * A buffer: memory that the program uses again and again. A region is identified by its
 * domain and by where its first use started: a buffer that is used with several lengths
 * is one region, and so are uses that have most of their bytes in common. A use inside of
 * a region that is registered is one of that region, wherever it starts. What of it is
 * registered is its extent.
 *
 * The fields are protected by the cache's lock. Only those of the helper, at
 * the end, are protected by helper_mutex instead.
 */
typedef struct ucs_rcache_pred_region {
    /* The begin and the end of a use that is a hit touch two cache lines. With
     * thousands of regions each line is one to wait for, so that what only others
     * need comes after them. Such a use writes the first one. The three fields from here
     * on are of the use under way or, if there is none, of the last one. Of several uses
     * at a time it is the one that came first */
    ucs_rcache_pred_time_t         begin;
    ucs_rcache_pred_context_t      context;
    ucs_rcache_pred_range_t        used;

    unsigned                       use_access;  /**< Access that the uses under
                                                     way need or, if there is
                                                     none, that the last ones
                                                     needed */
    uint32_t                       refs;        /**< Uses under way, of any part of
                                                     the extent, and its guard. It
                                                     cannot wrap: whoever has begun
                                                     2^32 uses holds more memory
                                                     for them than there is */
    uint32_t                       num_entries; /**< Entries in the DQ. No more
                                                     than fit in there */
    uint8_t                        referenced;  /**< Not 0: used since the
                                                     clock's hand passed this
                                                     region */
    uint8_t                        decided;     /**< Not 0: the helper has
                                                     decided about it since the
                                                     last use began. Uses clear
                                                     it, the helper sets it */
    uint8_t                        noted;       /**< Not 0: in table->noted, or
                                                     in that of its lane */
    uint8_t                        lost;        /**< Not 0: the last of its
                                                     entries, or that of its last
                                                     use, was overwritten */

    /* The second line. Such a use only reads it, and other threads pass it by as they
     * look for regions of theirs */
    uintptr_t                      start;       /**< Where its first use
                                                     started. Constant */
    uint64_t                       generation;  /**< Number of the region, which
                                                     no other region ever has;
                                                     0: the region is free */
    ucs_rcache_pred_extent_t       extent;      /**< What of it is registered */

    /* A lookup reads the links of regions that the lookup passes by, and no link of the
     * region found: so the links are in a cache line after the first two */
    ucs_hlist_link_t               start_link;
    struct ucs_rcache_pred_region  *next_noted; /**< The next one that is
                                                     noted */
    ucs_list_link_t                list;        /**< Element of table->free or of
                                                     table->newcomers */
    ucs_list_link_t                lost_link;   /**< Element of dq.lost; valid
                                                     if lost is not 0 */
    ucs_rcache_pred_time_t         deadline;    /**< When the next use is
                                                     expected; INF: none is.
                                                     Valid if decided is not 0,
                                                     see @ref
                                                     ucs_rcache_pred_region_deadline */
    unsigned                       in_pieces;   /**< Uses in pieces under way */
    unsigned                       recent_access; /**< Access that any of the
                                                     recent uses needed. The
                                                     helper writes it */
    uint8_t                        scheduled;   /**< Not 0: waits in the
                                                     registration queue */
    uint8_t                        newcomer;    /**< Not 0: in
                                                     table->newcomers */

    /* Only the helper uses these */
    uint8_t                        last_recent; /**< Index of the last one of
                                                     recent */
    uint8_t                        recent_times; /**< How many times of
                                                      registration the last one
                                                      has */
    uint8_t                        queued;
    uint8_t                        set_aside;   /**< Whether prepaid was set
                                                     aside, and not paid */
    uint8_t                        kept;        /**< Whether it is on the
                                                     awaited list because it was
                                                     kept for lack of budget, so
                                                     that it is no use that is
                                                     awaited */
    uint8_t                        join_doubt;  /**< Rises when only a few of
                                                     the slices that were joined
                                                     were used while it was
                                                     registered */
    ucs_rcache_pred_range_t        recent[UCS_RCACHE_PRED_RECENT];
                                                /**< What was used recently;
                                                     empty: nothing yet */
    ucs_rcache_pred_range_t        own;         /**< What was expected to be used
                                                     of it before it was joined
                                                     with others */
    ucs_rcache_pred_time_t         span;        /**< From the first to the last
                                                     begin of a burst of uses of
                                                     the slices that were
                                                     joined */
    ucs_rcache_pred_time_t         burst;       /**< If it stands for slices:
                                                     when the burst of their uses
                                                     began that is under way; 0:
                                                     none is */
    ucs_rcache_pred_time_t         join_after;  /**< Not to be joined before
                                                     that */
    ucs_rcache_pred_time_t         learned;     /**< Begin of the last use that
                                                     the helper has learned of;
                                                     0: of none yet */
    ucs_rcache_pred_time_t         prepaid;     /**< If it was given up at the
                                                     cost of the budget, and
                                                     neither registered ahead of
                                                     a use nor used since: what
                                                     was paid, or set aside, for
                                                     its next registration, ns */
    ucs_rcache_pred_time_t         apart_time;  /**< How long the registrations
                                                     and deregistrations of those
                                                     that were joined took, one by
                                                     one */
    uint32_t                       num_joined;  /**< How many slices were
                                                     joined; 0: it was not */
    uint32_t                       missing;     /**< How much of what was expected
                                                     the last uses left out while
                                                     it was not joined, see
                                                     helper/burst.c */
    ucs_rcache_pred_timeq_elem_t   queue_elem UCS_V_ALIGNED(64);
                                                /**< Element of the registration
                                                     queue or of the awaited
                                                     list */
    unsigned                       accesses[UCS_RCACHE_PRED_RECENT];
                                                /**< Access that the recent uses
                                                     needed */
    uint32_t                       epoch;       /**< The last epoch in which its
                                                     use was counted, see
                                                     helper/seat.c */
    ucs_rcache_pred_forecast_t     forecast;    /**< What is known about its
                                                     uses */
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


/** A list of regions, linked through next_noted. */
typedef struct ucs_rcache_pred_noted {
    ucs_rcache_pred_region_t *first; /**< NULL: there is none */
    ucs_rcache_pred_region_t *last;
} ucs_rcache_pred_noted_t;


/** So many extents are in a memo, as a power of 2. */
#define UCS_RCACHE_PRED_MEMO_BITS 6

/** Extents of uses that began lately, by their handles. Most uses end before many
 *  others have begun, so that their extents are found here: in a few cache lines
 *  that stay in the processor's own cache, while a search in the buckets of
 *  thousands of extents would wait for a line that does not. An extent that is no longer
 *  registered, or whose region is free, may still be here: the extent itself tells. */
typedef struct ucs_rcache_pred_memo {
    ucs_rcache_pred_extent_t *extents[1 << UCS_RCACHE_PRED_MEMO_BITS];
} ucs_rcache_pred_memo_t;


/** A table begins with so many buckets, as a power of 2. */
#define UCS_RCACHE_PRED_TABLE_BITS 14

/** The table of all regions. */
typedef struct ucs_rcache_pred_table {
    ucs_buckets_t by_start;
    ucs_buckets_t by_memh;
    ucs_rcache_pred_memo_t    memo;      /**< Of uses that began under the
                                              lock */
    ucs_tree_t    tree;      /**< All extents, ordered by the start
                                              of what is known */
    unsigned                  count;     /**< Number of regions in the table */
    unsigned                  num_free;  /**< Number of regions in free, and of
                                              those from fresh on */
    uint64_t                  generations; /**< How many generations were given
                                                to regions and uses so far */
    uint64_t                  claims;    /**< How often extents became REGISTERING
                                              so far */
    ucs_list_link_t           free;      /**< Regions that were freed */
    ucs_rcache_pred_region_t  *fresh;    /**< The first region of the last chunk
                                              that never was used. Not linked,
                                              since to link all of a chunk would
                                              take long under the lock */
    ucs_list_link_t           stale;     /**< Stale extents, whose regions are to
                                              be cleared away: no use and no
                                              registration of them is under way.
                                              Those that are still registered
                                              come first */
    ucs_list_link_t           newcomers; /**< Regions of which the helper has
                                              learned one use, those that came
                                              first first. None of them is
                                              stale, unless it is just being
                                              forgotten */
    unsigned                  num_newcomers; /**< How many */
    ucs_rcache_pred_noted_t   noted;     /**< Regions whose rank may be too low,
                                              see victim.h */
    ucs_list_link_t           chunks;    /**< The memory of all regions */
} ucs_rcache_pred_table_t;


/** Room for one more region in the table, which is allocated without the
 *  lock. */
typedef struct ucs_rcache_pred_room {
    int                          wants_chunk;
    int                          large_chunk; /**< One of a huge page */
    int                          wants_start; /**< Buckets by start */
    int                          wants_memh;  /**< Buckets by handle */
    int                          crowded; /**< The table can do without buckets by
                                               start: too many regions meet
                                               others in those that it has */
    unsigned                     start_capacity; /**< For how many regions the
                                                      table had buckets when it
                                                      was asked */
    unsigned                     memh_capacity;
    struct ucs_rcache_pred_chunk *chunk;    /**< Memory of regions */
    ucs_hlist_head_t             *by_start; /**< Buckets */
    ucs_hlist_head_t             *by_memh;  /**< Buckets */
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

/** @return whether one more region needs more buckets by handle. They cannot grow while
 *          they still do. */
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

/** The helper has learned of the region's first use: the region is a newcomer
 *  from now on, unless it is stale. */
void ucs_rcache_pred_region_introduce(ucs_rcache_pred_table_t *table,
                                      ucs_rcache_pred_region_t *region);

/** The region has recurred, or is to be cleared away: it is no newcomer any
 *  more, if it was one. */
void ucs_rcache_pred_region_settle(ucs_rcache_pred_table_t *table,
                                   ucs_rcache_pred_region_t *region);

/** Make a REGISTERING extent REGISTERED, and let it be found by its handle. No
 *  other extent of the domain may have the same handle. */
void ucs_rcache_pred_extent_set_memh(ucs_rcache_pred_table_t *table,
                                     ucs_rcache_pred_extent_t *extent,
                                     void *memh);

/** @return the handle of an extent that is IDLE from now on; nobody finds it by
 *  that handle any more. */
void *ucs_rcache_pred_extent_take_memh(ucs_rcache_pred_table_t *table,
                                       ucs_rcache_pred_extent_t *extent);

/** @return the first region whose known range starts at @a start or later, or
 *  NULL. With @ref ucs_rcache_pred_region_next, this goes over all regions;
 *  whoever lets go of the lock in between goes on with where the known range of
 *  the region starts that comes next. */
ucs_rcache_pred_region_t *
ucs_rcache_pred_table_from(const ucs_rcache_pred_table_t *table,
                           uintptr_t start);

/** @return the region after @a region in that order, or NULL. */
ucs_rcache_pred_region_t *
ucs_rcache_pred_region_next(ucs_rcache_pred_region_t *region);

/** If the region is stale, and no use and no registration of it is under way,
 *  let it be cleared away. To be called when one of these has changed. */
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
    /* The high bits of one product will do: if they collide, the buckets know */
    return ucs_hash_word((uintptr_t)memh) >>
           (64 - UCS_RCACHE_PRED_MEMO_BITS);
}

/** A use of a registered extent begins: let a memo know the extent. */
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

/** @return when the next use of the region is expected; INF: no use is expected,
 *          or the helper has not decided about it since the last one. */
static inline ucs_rcache_pred_time_t
ucs_rcache_pred_region_deadline(const ucs_rcache_pred_region_t *region)
{
    return region->decided ? region->deadline : UCS_RCACHE_PRED_TIME_INF;
}

/** Set when the next use of the region is expected. */
static inline void
ucs_rcache_pred_region_set_deadline(ucs_rcache_pred_region_t *region,
                                    ucs_rcache_pred_time_t deadline)
{
    region->deadline = deadline;
    region->decided  = 1;
}

#endif
