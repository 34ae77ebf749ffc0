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
    /* A hit reads the fields from here to claims. They fill the rest of the region's
     * second cache line, after region->start and region->generation */
    struct ucs_rcache_pred_domain  *domain;     /**< Constant */
    ucs_rcache_pred_range_t        range;       /**< The registered range, or the
                                                     last one that was registered or
                                                     tried */
    void                           *memh;       /**< Valid while REGISTERED */
    unsigned                       access;      /**< Access that the
                                                     registration allows, or the
                                                     last one allowed */
    unsigned                       flags;       /**< Flags of the last use. The
                                                     helper registers the extent
                                                     with them ahead of the next
                                                     use. A use whose flags
                                                     differ writes its own */
    uint8_t                        state;       /**< One of the states above */
    uint8_t                        stale;       /**< Not 0: a part of its memory was
                                                     unmapped, or it was
                                                     invalidated, or the helper
                                                     forgets it. It serves no new
                                                     use */
    uint8_t                        ahead;       /**< Not 0: registered by the
                                                     helper, and not used
                                                     since */
    uint8_t                        maybe_spare : 1; /**< While this extent was
                                                     in use or being registered,
                                                     another extent was
                                                     registered that has some of
                                                     its bytes, perhaps all */
    uint8_t                        frail : 1;   /**< The system has refused the
                                                     memory for another reason
                                                     than lack of room. Once
                                                     registered, the extent is
                                                     guarded from the end of its
                                                     last use on, see
                                                     pred_guard_failed().
                                                     Never cleared */
    uint8_t                        guarded : 1; /**< One of the region's refs is
                                                     not that of a use, but a
                                                     guard, which keeps the
                                                     extent registered */
    uint8_t                        overtaken : 1; /**< The memory has lost a right
                                                     while the extent is
                                                     REGISTERING. Once registered,
                                                     the extent is guarded */
    uint8_t                        evicted;     /**< Not 0: the extent was
                                                     deregistered to make room,
                                                     and not registered since */
    uint8_t                        lane;        /**< Number of the lane that the
                                                     extent belongs to, see
                                                     cache/lanes.h; 0: none */
    uint8_t                        claimant;    /**< Number of the lane of the
                                                     thread that has begun the
                                                     last use under the lock; 0:
                                                     the thread has no lane */
    uint8_t                        claims;      /**< How many uses in a row that
                                                     thread has begun, as far as
                                                     its lane counts them */

    /* Another cache line */
    union {
        ucs_hlist_link_t           memh_link;   /**< Valid while REGISTERED */
        uint64_t                   claim;       /**< Valid while REGISTERING:
                                                     value of table->claims when
                                                     the extent was claimed, with
                                                     this claim */
    };
    ucs_rcache_pred_waiter_t       *waiters;    /**< Who waits until the extent,
                                                     which was invalidated, is
                                                     deregistered; NULL: nobody */
    union {
        ucs_rcache_pred_time_t     early_until; /**< Valid if ahead is not 0: if
                                                     the first use begins after
                                                     this time, the helper has
                                                     registered the extent too
                                                     early */
        uint64_t                   unwritable;  /**< Valid while guarded, when
                                                     ahead is 0: how many pages
                                                     have lost a right and have
                                                     not got the right back */
    };
    ucs_rcache_pred_range_t        joined;      /**< Range of the slices for which
                                                     this extent stands: a use of
                                                     any part is a use of this
                                                     extent's region. Of a burst,
                                                     constant (helper/join.c).
                                                     Else of merged slices
                                                     (helper/merge.c): the helper
                                                     sets the range, unmaps clear
                                                     it; empty: no slices were
                                                     merged */
    ucs_rcache_pred_time_t         merged_until; /**< Until this time a use of a
                                                     part of merged slices is a use
                                                     of the region, see
                                                     pred_stands_for(). The helper
                                                     sets the time when it gives
                                                     the extent up, and each
                                                     registration sets it to 0 */
    size_t                         sliced;      /**< Sum of the lengths of uses that
                                                     did not begin where the
                                                     region starts, since the
                                                     extent was registered or its
                                                     last burst has ended */

    /* A search for extents that share memory with a range reads, of an extent that it
     * passes by, only the fields from here to max_end, which fill one cache line */
    ucs_tree_node_t                tree_node;   /**< Element of table->tree */
    ucs_rcache_pred_range_t        known;       /**< What may be registered
                                                     ahead: all bytes that ever
                                                     were registered, up to the
                                                     nearest bytes that were
                                                     unmapped since. The tree is
                                                     ordered by its start */
    uintptr_t                      max_end[UCS_RCACHE_PRED_RANGES];
                                                /**< The highest end of the
                                                     ranges of each kind, of this
                                                     extent and of the extents
                                                     below it in the tree; 0: no
                                                     such range */
    uint64_t                       max_rank;    /**< The highest rank of this extent
                                                     and of the extents below it in
                                                     the tree */
    uint64_t                       rank;        /**< The higher, the sooner the
                                                     extent gives way, see
                                                     victim.h */
    ucs_list_link_t                stale_link;  /**< Element of table->stale;
                                                     valid if clearing is not
                                                     0 */
    uint8_t                        clearing;    /**< Not 0: in table->stale */
    uint8_t                        renewed;     /**< Not 0: registered since the
                                                     helper learned of a use
                                                     last */
    uint8_t                        apart;       /**< Not 0: the extent was joined or
                                                     merged with others in vain, and
                                                     the helper does not try again */
    uint8_t                        touches;     /**< Not 0: since this extent is
                                                     registered, another one was
                                                     registered that touches it
                                                     within a page, see
                                                     cache/slices.h */
} ucs_rcache_pred_extent_t;


/** @return the extent of an element of table->tree. */
static inline ucs_rcache_pred_extent_t *
ucs_tree_extent(const ucs_tree_node_t *node)
{
    return ucs_container_of(node, ucs_rcache_pred_extent_t, tree_node);
}

/** @return where the range of this kind of an extent ends; 0: the extent has no range of
 *          this kind. */
static inline uintptr_t
ucs_rcache_pred_extent_end(const ucs_rcache_pred_extent_t *extent,
                           ucs_rcache_pred_range_kind_t kind)
{
    return (kind == UCS_RCACHE_PRED_RANGE_KNOWN) ? extent->known.end :
           (extent->state == UCS_RCACHE_PRED_EXTENT_IDLE) ? 0 :
           extent->range.end;
}

/** @return the highest end of the ranges of this kind in a branch of table->tree; 0: no
 *          extent of the branch has such a range. */
static inline uintptr_t
ucs_rcache_pred_branch_end(const ucs_tree_node_t *node,
                           ucs_rcache_pred_range_kind_t kind)
{
    return (node == NULL) ? 0 : ucs_tree_extent(node)->max_end[kind];
}

/** @return the highest rank in a branch of table->tree; 0: going by the ranks, no extent
 *          of the branch can give way, see victim.h. */
static inline uint64_t
ucs_rcache_pred_branch_rank(const ucs_tree_node_t *node)
{
    return (node == NULL) ? 0 : ucs_tree_extent(node)->max_rank;
}

/** @return whether an extent, if it is registered or once it is, can serve a use of this
 *          range with this access. */
static inline int
ucs_rcache_pred_extent_covers(const ucs_rcache_pred_extent_t *extent,
                              const ucs_rcache_pred_range_t *range,
                              unsigned access)
{
    return ucs_rcache_pred_range_has(&extent->range, range) &&
           ((access & ~extent->access) == 0);
}

#endif
