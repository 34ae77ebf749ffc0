/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_REGION_H_
#define UCS_RCACHE_PRED_REGION_H_

#include "range.h"

#include <ucs/base/buckets.h>
#include <ucs/base/tree.h>
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

/** Ahead of a use, a region is registered from the first to the last byte that
 *  was used while it was registered the last times, and with the access that any
 *  of these uses needed. There are so many records of that, each of so many
 *  times that it was registered: of 25 to 32 in all. If the limits of a buffer
 *  differ at random from one use to the next, both were reached by one of so
 *  many earlier uses in about 15 cases of 16. */
#define UCS_RCACHE_PRED_RECENT       4
#define UCS_RCACHE_PRED_RECENT_TIMES 8


/** Regions are aligned to cache lines, so that the fields that every use reads
 *  take as few lines as possible. */
#define UCS_RCACHE_PRED_REGION_ALIGN 64


typedef enum {
    UCS_RCACHE_PRED_REGION_IDLE,        /**< Not registered */
    UCS_RCACHE_PRED_REGION_REGISTERING, /**< Some thread is registering it,
                                             without the lock; others wait */
    UCS_RCACHE_PRED_REGION_REGISTERED
} ucs_rcache_pred_region_state_t;


/** Which ranges of regions a search looks at. */
typedef enum {
    UCS_RCACHE_PRED_RANGE_KNOWN,      /**< The known range of each region */
    UCS_RCACHE_PRED_RANGE_REGISTERED, /**< The registered range of each region
                                           that is not IDLE */
    UCS_RCACHE_PRED_RANGES
} ucs_rcache_pred_range_kind_t;


/** Somebody who waits for the end of the last use of an invalidated region. */
typedef struct ucs_rcache_pred_waiter {
    struct ucs_rcache_pred_waiter *next;
    void                          (*cb)(void *arg);
    void                          *arg;
} ucs_rcache_pred_waiter_t;


/**
 * Memory that was used. A region is identified by its domain and by where its
 * first use started: a buffer that is used with several lengths is one region,
 * and so are uses that have most of their bytes in common. A use inside of a
 * region that is registered is one of that region, wherever it starts.
 *
 * The fields are protected by the cache's lock. Only those of the helper, at
 * the end, are protected by helper_mutex instead.
 */
typedef struct ucs_rcache_pred_region {
    /* The begin and the end of a use that is a hit touch two cache lines. With
     * thousands of regions each line is one to wait for, so that what only others
     * need comes after them. Such a use only reads the first one, which other
     * threads pass by as they look for regions of theirs */
    uintptr_t                      start;       /**< Where its first use
                                                     started. Constant */
    struct ucs_rcache_pred_domain  *domain;     /**< Constant */
    ucs_rcache_pred_range_t        registered;  /**< What is registered, or was
                                                     last */
    void                           *memh;       /**< Valid while REGISTERED */
    uint64_t                       generation;  /**< Number of the region, which
                                                     no other region ever has;
                                                     0: the region is free */
    unsigned                       access;      /**< Access that the
                                                     registration allows, or the
                                                     last one allowed */
    unsigned                       flags;       /**< Flags of the last use. A use
                                                     writes them if it has other
                                                     ones */
    uint8_t                        state;       /**< One of the states above */
    uint8_t                        stale;       /**< Not 0: unmapped or
                                                     invalidated, so that it
                                                     serves no new use */
    uint8_t                        ahead;       /**< Not 0: registered by the
                                                     helper, and not used
                                                     since */
    uint8_t                        maybe_spare : 1; /**< Another region with
                                                     bytes of it was registered
                                                     while it was in use, or was
                                                     being registered, and may
                                                     have all of them */
    uint8_t                        frail : 1;   /**< Its memory was refused for
                                                     another reason than lack of
                                                     room, so that it is guarded
                                                     once it is registered, see
                                                     cache/bound.h */
    uint8_t                        guarded : 1; /**< One of refs is not a use, but
                                                     keeps it registered */
    uint8_t                        overtaken : 1; /**< Its memory has lost a right
                                                     while it is REGISTERING, so
                                                     that it is guarded once it is
                                                     registered */
    uint8_t                        evicted;     /**< Not 0: given up for room, and
                                                     not registered since */
    uint8_t                        lane;        /**< Number of the lane that it
                                                     belongs to, see
                                                     cache/lanes.h; 0: it does
                                                     not. Written under the
                                                     lock */
    uint8_t                        claimant;    /**< Of the thread that has begun
                                                     the last use under the lock,
                                                     the number of its lane */
    uint8_t                        claims;      /**< How many uses in a row it
                                                     was */

    /* The second line. These three are of the use under way or, if there is none,
     * of the last one. Of several uses at a time it is the one that came first */
    ucs_rcache_pred_time_t         begin UCS_V_ALIGNED(64);
    ucs_rcache_pred_context_t      context;
    ucs_rcache_pred_range_t        used;

    unsigned                       use_access;  /**< Access that the uses under
                                                     way need or, if there is
                                                     none, that the last ones
                                                     needed */
    uint32_t                       refs;        /**< Uses under way. It cannot
                                                     wrap: whoever has begun
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

    /* A lookup reads the links of regions that the lookup passes by, and no link of the
     * region found: so the links begin a cache line of their own */
    ucs_hlist_link_t               start_link UCS_V_ALIGNED(64);
    union {
        ucs_hlist_link_t           memh_link;   /**< Valid while REGISTERED */
        uint64_t                   claim;       /**< Valid while REGISTERING: the
                                                     number of that claim, see
                                                     table->claims */
    };
    struct ucs_rcache_pred_region  *next_noted; /**< The next one that is
                                                     noted */
    ucs_rcache_pred_waiter_t       *waiters;    /**< NULL unless it is stale */
    ucs_rcache_pred_time_t         deadline;    /**< When the next use is
                                                     expected; INF: none is.
                                                     Valid if decided is not 0,
                                                     see @ref
                                                     ucs_rcache_pred_region_deadline */
    unsigned                       in_pieces;   /**< Uses in pieces under way */
    uint8_t                        scheduled;   /**< Not 0: waits in the
                                                     registration queue */
    uint8_t                        clearing;    /**< Not 0: in table->stale */
    uint8_t                        renewed;     /**< Not 0: registered since the
                                                     helper learned of a use
                                                     last */
    uint8_t                        newcomer;    /**< Not 0: in
                                                     table->newcomers */

    /* A search for regions that share memory with a range reads only the
     * fields from here to max_end of those it passes by. They fill one cache
     * line */
    ucs_tree_node_t    tree_node UCS_V_ALIGNED(64);
                                                /**< Element of table->tree */
    ucs_rcache_pred_range_t        known;       /**< What may be registered
                                                     ahead: all that ever was
                                                     registered, but nothing
                                                     beyond what was unmapped
                                                     since. Has all of
                                                     registered, unless the
                                                     region is stale. The tree
                                                     is ordered by its start */
    uintptr_t                      max_end[UCS_RCACHE_PRED_RANGES];
                                                /**< Where the last known range,
                                                     and the last one that is
                                                     registered or about to be,
                                                     of this region and of those
                                                     below it in the tree ends;
                                                     0: there is none */
    uint64_t                       max_rank;    /**< The highest rank of this
                                                     region and of those below
                                                     it in the tree */
    uint64_t                       rank;        /**< Its place among those that
                                                     give way, see victim.h */

    ucs_list_link_t                list;        /**< Element of table->free, of
                                                     table->stale or of
                                                     table->newcomers */
    ucs_list_link_t                lost_link;   /**< Element of dq.lost; valid
                                                     if lost is not 0 */
    union {
        ucs_rcache_pred_time_t     early_until; /**< Valid if ahead is not 0: a
                                                     first use that comes later
                                                     than this shows that the
                                                     helper has registered it too
                                                     early */
        uint64_t                   unwritable;  /**< Valid while guarded, where
                                                     ahead is 0: how many of its
                                                     pages have lost a right and
                                                     have not got it back */
    };
    unsigned                       recent_access; /**< Access that any of the
                                                     recent uses needed. The
                                                     helper writes it */
    uint32_t                       missing;     /**< How much of what was expected
                                                     the last uses left out while
                                                     it was not joined, see
                                                     helper/burst.c. Only the
                                                     helper uses it */
    ucs_rcache_pred_range_t        joined;      /**< What it and the slices have
                                                     that were joined or merged
                                                     with it, see helper/join.c
                                                     and helper/merge.c: a use of
                                                     any part is one of this
                                                     region. Inside of known;
                                                     empty: none were. The helper
                                                     sets it, unmaps and failures
                                                     clear it */
    ucs_rcache_pred_time_t         joined_until; /**< If they were merged: only a
                                                     use that begins before that
                                                     is, see pred_stands_for().
                                                     INF: they were joined. The
                                                     helper sets it, and each
                                                     registration clears it */
    size_t                         sliced;      /**< Bytes of uses, since it was
                                                     registered or a burst has
                                                     ended, that did not begin
                                                     where the region starts */
    uint8_t                        apart;       /**< Not 0: it was joined with
                                                     others in vain, and is not
                                                     joined any more */
    uint8_t                        touches;     /**< Not 0: since it is
                                                     registered, another region
                                                     was that touches it within
                                                     a page, see
                                                     cache/slices.h */

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
    ucs_rcache_pred_timeq_elem_t   queue_elem UCS_V_ALIGNED(64);
                                                /**< Element of the registration
                                                     queue or of the awaited
                                                     list */
    unsigned                       accesses[UCS_RCACHE_PRED_RECENT];
                                                /**< Access that the recent uses
                                                     needed */
    ucs_rcache_pred_time_t         learned;     /**< Begin of the last use that
                                                     the helper has learned of;
                                                     0: of none yet */
    ucs_rcache_pred_time_t         burst;       /**< If it stands for slices:
                                                     when the burst of their uses
                                                     began that is under way; 0:
                                                     none is */
    ucs_rcache_pred_time_t         join_after;  /**< Not to be joined before
                                                     that */
    ucs_rcache_pred_time_t         prepaid;     /**< If it was given up at the
                                                     cost of the budget, and
                                                     neither registered ahead of
                                                     a use nor used since: what
                                                     was paid, or set aside, for
                                                     its next registration, ns */
    uint32_t                       num_joined;  /**< How many slices were
                                                     joined; 0: it was not */
    uint32_t                       epoch;       /**< The last epoch in which its
                                                     use was counted, see
                                                     helper/seat.c */
    ucs_rcache_pred_time_t         apart_time;  /**< How long the registrations
                                                     and deregistrations of those
                                                     that were joined took, one by
                                                     one */
    ucs_rcache_pred_forecast_t     forecast;    /**< What is known about its
                                                     uses */
} UCS_V_ALIGNED(UCS_RCACHE_PRED_REGION_ALIGN) ucs_rcache_pred_region_t;


/** A list of regions, linked through next_noted. */
typedef struct ucs_rcache_pred_noted {
    ucs_rcache_pred_region_t *first; /**< NULL: there is none */
    ucs_rcache_pred_region_t *last;
} ucs_rcache_pred_noted_t;


/** So many regions are in a memo, as a power of 2. */
#define UCS_RCACHE_PRED_MEMO_BITS 6

/** Regions of uses that began lately, by their handles. Most uses end before many
 *  others have begun, so that their regions are found here: in a few cache lines
 *  that stay in the processor's own cache, while a search in the buckets of
 *  thousands of regions would wait for one that does not. A region that is no
 *  longer registered, or even free, may still be here: that shows in the
 *  region. */
typedef struct ucs_rcache_pred_memo {
    struct ucs_rcache_pred_region *regions[1 << UCS_RCACHE_PRED_MEMO_BITS];
} ucs_rcache_pred_memo_t;


/** A table begins with so many buckets, as a power of 2. */
#define UCS_RCACHE_PRED_TABLE_BITS 14

/** The table of all regions. */
typedef struct ucs_rcache_pred_table {
    ucs_buckets_t by_start;
    ucs_buckets_t by_memh;
    ucs_rcache_pred_memo_t    memo;      /**< Of uses that began under the
                                              lock */
    ucs_tree_t    tree;      /**< All regions, ordered by the start
                                              of what is known */
    unsigned                  count;     /**< Number of regions in the table */
    unsigned                  num_free;  /**< Number of regions in free, and of
                                              those from fresh on */
    uint64_t                  generations; /**< How many generations were given
                                                to regions and uses so far */
    uint64_t                  claims;    /**< How often regions became REGISTERING
                                              so far */
    ucs_list_link_t           free;      /**< Regions that were freed */
    ucs_rcache_pred_region_t  *fresh;    /**< The first region of the last chunk
                                              that never was used. Not linked,
                                              since to link all of a chunk would
                                              take long under the lock */
    ucs_list_link_t           stale;     /**< Stale regions to clear away: no
                                              use and no registration of them is
                                              under way. Those that are still
                                              registered come first */
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

/** Make a REGISTERING region REGISTERED, and let it be found by its handle. No
 *  other region of the domain may have the same handle. */
void ucs_rcache_pred_region_set_memh(ucs_rcache_pred_table_t *table,
                                     ucs_rcache_pred_region_t *region,
                                     void *memh);

/** @return the handle of a region that is IDLE from now on; nobody finds it by
 *  that handle any more. */
void *ucs_rcache_pred_region_take_memh(ucs_rcache_pred_table_t *table,
                                       ucs_rcache_pred_region_t *region);

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

/** @return the region of an element of table->tree. */
static inline ucs_rcache_pred_region_t *
ucs_tree_region(const ucs_tree_node_t *node)
{
    return ucs_container_of(node, ucs_rcache_pred_region_t, tree_node);
}

/** @return where a range of a region ends; 0: the region has none of that
 *          kind. */
static inline uintptr_t
ucs_rcache_pred_region_end(const ucs_rcache_pred_region_t *region,
                           ucs_rcache_pred_range_kind_t kind)
{
    return (kind == UCS_RCACHE_PRED_RANGE_KNOWN) ? region->known.end :
           (region->state == UCS_RCACHE_PRED_REGION_IDLE) ? 0 :
           region->registered.end;
}

/** @return where the last range of a branch of table->tree ends; 0: there is
 *          none of that kind. */
static inline uintptr_t
ucs_rcache_pred_branch_end(const ucs_tree_node_t *node,
                           ucs_rcache_pred_range_kind_t kind)
{
    return (node == NULL) ? 0 :
           ucs_tree_region(node)->max_end[kind];
}

/** @return the highest rank in a branch of table->tree; 0: no region in it can
 *          give way, as far as the ranks tell, see victim.h. */
static inline uint64_t
ucs_rcache_pred_branch_rank(const ucs_tree_node_t *node)
{
    return (node == NULL) ? 0 : ucs_tree_region(node)->max_rank;
}

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

/** A use of a registered region begins: let a memo know the region. */
static inline void ucs_rcache_pred_memo_add(ucs_rcache_pred_memo_t *memo,
                                            ucs_rcache_pred_region_t *region)
{
    memo->regions[ucs_rcache_pred_memo_place(region->memh)] = region;
}

/** Search the buckets for the region that is registered with this handle in this
 *  domain. @return NULL if there is none. */
ucs_rcache_pred_region_t *
ucs_rcache_pred_table_search_memh(const ucs_rcache_pred_table_t *table,
                                  const struct ucs_rcache_pred_domain *domain,
                                  const void *memh);

/** @return the region that is registered with this handle in this domain, or
 *  NULL.
 *  @param [in] memo  Where to look first. */
static UCS_F_ALWAYS_INLINE ucs_rcache_pred_region_t *
ucs_rcache_pred_table_find_memh(const ucs_rcache_pred_table_t *table,
                                const ucs_rcache_pred_memo_t *memo,
                                const struct ucs_rcache_pred_domain *domain,
                                const void *memh)
{
    ucs_rcache_pred_region_t *region;

    region = memo->regions[ucs_rcache_pred_memo_place(memh)];
    return (ucs_likely(region != NULL) && ucs_likely(region->memh == memh) &&
            ucs_likely(region->domain == domain) &&
            ucs_likely(region->state == UCS_RCACHE_PRED_REGION_REGISTERED)) ?
           region : ucs_rcache_pred_table_search_memh(table, domain, memh);
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

/** @return whether the region could serve a use of that range and access if it
 *          were registered. */
static inline int
ucs_rcache_pred_region_covers(const ucs_rcache_pred_region_t *region,
                              const ucs_rcache_pred_range_t *range,
                              unsigned access)
{
    return ucs_rcache_pred_range_has(&region->registered, range) &&
           ((access & ~region->access) == 0);
}

/** @return whether the region was merged with others, see helper/merge.c. */
static inline int
ucs_rcache_pred_region_is_merged(const ucs_rcache_pred_region_t *region)
{
    return (region->joined.end != 0) &&
           (region->joined_until != UCS_RCACHE_PRED_TIME_INF);
}

#endif
