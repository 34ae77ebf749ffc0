/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_EXTENT_H_
#define UCS_RCACHE_PRED_EXTENT_H_

#include "range.h"

#include <ucs/base/tree.h>
#include <ucs/rcache_pred/predict/predict.h>

#include <ucs/datastruct/hlist.h>
#include <ucs/datastruct/list.h>

/** @file extent.h
 *
 * Extents: memory that is registered by one call, or may be. An extent belongs to
 * the region in which it is embedded (region.h): the region knows how the program
 * uses the memory, the extent what of the memory is registered.
 *
 * The caller of the functions holds the cache's lock.
 */


typedef enum {
    UCS_RCACHE_PRED_EXTENT_IDLE,        /**< Not registered */
    UCS_RCACHE_PRED_EXTENT_REGISTERING, /**< Some thread is registering it,
                                             without the lock; others wait */
    UCS_RCACHE_PRED_EXTENT_REGISTERED
} ucs_rcache_pred_extent_state_t;


/** Which ranges of extents a search looks at. */
typedef enum {
    UCS_RCACHE_PRED_RANGE_KNOWN,      /**< The known range of each extent */
    UCS_RCACHE_PRED_RANGE_REGISTERED, /**< The range of each extent that is not
                                           IDLE */
    UCS_RCACHE_PRED_RANGES
} ucs_rcache_pred_range_kind_t;


/** Somebody who waits for the end of the last use of an invalidated extent. */
typedef struct ucs_rcache_pred_waiter {
    struct ucs_rcache_pred_waiter *next;
    void                          (*cb)(void *arg);
    void                          *arg;
} ucs_rcache_pred_waiter_t;


/**
 * Memory that is registered by one call, or may be. All fields are written under the
 * cache's lock. In the lane that an extent belongs to, the thread of the lane writes
 * ahead and flags without the lock.
 */
typedef struct ucs_rcache_pred_extent {
    /* A hit reads the fields from here to claims: they fill the cache line that the
     * region begins with its start */
    struct ucs_rcache_pred_domain  *domain;     /**< Constant */
    ucs_rcache_pred_range_t        range;       /**< What is registered, or was
                                                     last */
    void                           *memh;       /**< Valid while REGISTERED */
    unsigned                       access;      /**< Access that the
                                                     registration allows, or the
                                                     last one allowed */
    unsigned                       flags;       /**< Flags of the last use, with
                                                     which it is registered
                                                     ahead. A use writes them if
                                                     it has other ones */
    uint8_t                        state;       /**< One of the states above */
    uint8_t                        stale;       /**< Not 0: unmapped or
                                                     invalidated, so that it
                                                     serves no new use */
    uint8_t                        ahead;       /**< Not 0: registered by the
                                                     helper, and not used
                                                     since */
    uint8_t                        maybe_spare : 1; /**< Another extent with
                                                     bytes of it was registered
                                                     while it was in use, or was
                                                     being registered, and may
                                                     have all of them */
    uint8_t                        frail : 1;   /**< Its memory was refused for
                                                     another reason than lack of
                                                     room, so that it is guarded
                                                     once it is registered, see
                                                     cache/bound.h */
    uint8_t                        guarded : 1; /**< One of the region's refs is
                                                     not a use, but keeps it
                                                     registered */
    uint8_t                        overtaken : 1; /**< Its memory has lost a right
                                                     while it is REGISTERING, so
                                                     that it is guarded once it is
                                                     registered */
    uint8_t                        evicted;     /**< Not 0: given up for room, and
                                                     not registered since */
    uint8_t                        lane;        /**< Number of the lane that it
                                                     belongs to, see
                                                     cache/lanes.h; 0: to none */
    uint8_t                        claimant;    /**< Of the thread that has begun
                                                     the last use under the lock,
                                                     the number of its lane */
    uint8_t                        claims;      /**< How many uses in a row it
                                                     was */

    /* Another cache line */
    union {
        ucs_hlist_link_t           memh_link;   /**< Valid while REGISTERED */
        uint64_t                   claim;       /**< Valid while REGISTERING: the
                                                     number of that claim, see
                                                     table->claims */
    };
    ucs_rcache_pred_waiter_t       *waiters;    /**< NULL unless it is stale */
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
    ucs_rcache_pred_range_t        joined;      /**< What it and the slices have
                                                     that were joined or merged
                                                     with it, see helper/join.c
                                                     and helper/merge.c: a use of
                                                     any part is one of its
                                                     region. Empty: none were.
                                                     The helper sets it, unmaps
                                                     and failures clear it */
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

    /* A search for extents that share memory with a range reads only the
     * fields from here to max_end of those it passes by. They fill one cache
     * line */
    ucs_tree_node_t                tree_node;   /**< Element of table->tree */
    ucs_rcache_pred_range_t        known;       /**< What may be registered
                                                     ahead: all that ever was
                                                     registered, but nothing
                                                     beyond what was unmapped
                                                     since. The tree is ordered
                                                     by its start */
    uintptr_t                      max_end[UCS_RCACHE_PRED_RANGES];
                                                /**< Where the last known range,
                                                     and the last one that is
                                                     registered or about to be,
                                                     of this extent and of those
                                                     below it in the tree ends;
                                                     0: there is none */
    uint64_t                       max_rank;    /**< The highest rank of this
                                                     extent and of those below
                                                     it in the tree */
    uint64_t                       rank;        /**< Its place among those that
                                                     give way, see victim.h */
    ucs_list_link_t                stale_link;  /**< Element of table->stale;
                                                     valid if clearing is not
                                                     0 */
    uint8_t                        clearing;    /**< Not 0: in table->stale */
    uint8_t                        renewed;     /**< Not 0: registered since the
                                                     helper learned of a use
                                                     last */
    uint8_t                        apart;       /**< Not 0: it was joined with
                                                     others in vain, and is not
                                                     joined any more */
    uint8_t                        touches;     /**< Not 0: since it is
                                                     registered, another extent
                                                     was that touches it within
                                                     a page, see
                                                     cache/slices.h */
} ucs_rcache_pred_extent_t;


/** @return the extent of an element of table->tree. */
static inline ucs_rcache_pred_extent_t *
ucs_tree_extent(const ucs_tree_node_t *node)
{
    return ucs_container_of(node, ucs_rcache_pred_extent_t, tree_node);
}

/** @return where a range of an extent ends; 0: the extent has none of that
 *          kind. */
static inline uintptr_t
ucs_rcache_pred_extent_end(const ucs_rcache_pred_extent_t *extent,
                           ucs_rcache_pred_range_kind_t kind)
{
    return (kind == UCS_RCACHE_PRED_RANGE_KNOWN) ? extent->known.end :
           (extent->state == UCS_RCACHE_PRED_EXTENT_IDLE) ? 0 :
           extent->range.end;
}

/** @return where the last range of a branch of table->tree ends; 0: there is
 *          none of that kind. */
static inline uintptr_t
ucs_rcache_pred_branch_end(const ucs_tree_node_t *node,
                           ucs_rcache_pred_range_kind_t kind)
{
    return (node == NULL) ? 0 : ucs_tree_extent(node)->max_end[kind];
}

/** @return the highest rank in a branch of table->tree; 0: no extent in it can
 *          give way, as far as the ranks tell, see victim.h. */
static inline uint64_t
ucs_rcache_pred_branch_rank(const ucs_tree_node_t *node)
{
    return (node == NULL) ? 0 : ucs_tree_extent(node)->max_rank;
}

/** @return whether the extent could serve a use of that range and access if it
 *          were registered. */
static inline int
ucs_rcache_pred_extent_covers(const ucs_rcache_pred_extent_t *extent,
                              const ucs_rcache_pred_range_t *range,
                              unsigned access)
{
    return ucs_rcache_pred_range_has(&extent->range, range) &&
           ((access & ~extent->access) == 0);
}

/** @return whether the extent was merged with others, see helper/merge.c. */
static inline int
ucs_rcache_pred_extent_is_merged(const ucs_rcache_pred_extent_t *extent)
{
    return (extent->joined.end != 0) &&
           (extent->joined_until != UCS_RCACHE_PRED_TIME_INF);
}

#endif
