/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_TIMEQ_H_
#define UCS_RCACHE_PRED_TIMEQ_H_

#include <ucs/base/tree.h>
#include <ucs/rcache_pred/api/rcache_pred.h>

/** @file timeq.h
 *
 * A queue that is ordered by time. Only the helper uses it, so that it needs no
 * lock. Elements of equal time stay in the order in which they were inserted.
 *
 * An element may ask for a gap: the element before has to be ready this much
 * earlier. Where deadlines are closer together than their gaps, the earlier
 * ones have to be met before their times (CF'11, "Adjusting Registration
 * Deadlines"). The paper moves the deadlines themselves, one after the other.
 * Here the deadlines stay as they are, and the queue tells when the first
 * element has to be ready so that all later ones can be in time:
 *
 *     min over i of (t(i) - (g(2) + ... + g(i)))
 *
 * with t and g the times and the gaps of the elements from the first one on.
 * Inserting, removing and looking take O(log n) steps. Times are less than
 * 2^63.
 */

typedef struct ucs_rcache_pred_timeq {
    ucs_tree_t tree;
} ucs_rcache_pred_timeq_t;


typedef struct ucs_rcache_pred_timeq_elem {
    ucs_tree_node_t        node;
    ucs_rcache_pred_time_t time;
    ucs_rcache_pred_time_t gap;
    int64_t                gaps;  /**< Sum of the gaps of the element and of the
                                       elements below in the tree */
    int64_t                ready; /**< When all elements before this branch of
                                       the tree have to be ready, so that the
                                       elements of the branch can be in time */
} ucs_rcache_pred_timeq_elem_t;


/** Initialize an empty queue. */
void ucs_rcache_pred_timeq_init(ucs_rcache_pred_timeq_t *queue);

/** Insert an element with this time, behind all elements that are not later.
 *
 * @param [in] gap  How much earlier the element before has to be ready, ns. */
void ucs_rcache_pred_timeq_insert(ucs_rcache_pred_timeq_t *queue,
                                  ucs_rcache_pred_timeq_elem_t *elem,
                                  ucs_rcache_pred_time_t time,
                                  ucs_rcache_pred_time_t gap);

void ucs_rcache_pred_timeq_remove(ucs_rcache_pred_timeq_t *queue,
                                  ucs_rcache_pred_timeq_elem_t *elem);

static inline int
ucs_rcache_pred_timeq_is_empty(const ucs_rcache_pred_timeq_t *queue)
{
    return queue->tree.root == NULL;
}

/** @return the earliest element, or NULL. */
ucs_rcache_pred_timeq_elem_t *
ucs_rcache_pred_timeq_head(const ucs_rcache_pred_timeq_t *queue);

/** @return when the earliest element has to be ready, or
 *          UCS_RCACHE_PRED_TIME_INF. */
ucs_rcache_pred_time_t
ucs_rcache_pred_timeq_first(const ucs_rcache_pred_timeq_t *queue);

#endif
