/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_TIMEQ_H_
#define UCS_RCACHE_PRED_TIMEQ_H_

#include <ucs/rcache_pred/api/rcache_pred.h>

#include <ucs/datastruct/list.h>

/** @file timeq.h
 *
 * A list that is ordered by time. Only the helper uses it, so that it needs no
 * lock. The place of a new element is searched for from the end of the list,
 * since most deadlines belong near the end. Elements of equal time stay in the
 * order in which they were inserted.
 */

typedef struct ucs_rcache_pred_timeq_elem {
    ucs_list_link_t        list;
    ucs_rcache_pred_time_t time;
} ucs_rcache_pred_timeq_elem_t;


/** Insert an element with this time, behind all that are not later. */
static inline void
ucs_rcache_pred_timeq_insert(ucs_list_link_t *queue,
                             ucs_rcache_pred_timeq_elem_t *elem,
                             ucs_rcache_pred_time_t time)
{
    ucs_list_link_t *pos;

    for (pos = queue->prev; pos != queue; pos = pos->prev) {
        if (ucs_container_of(pos, ucs_rcache_pred_timeq_elem_t, list)->time <=
            time) {
            break;
        }
    }

    elem->time = time;
    ucs_list_insert_after(pos, &elem->list);
}

/** @return the earliest element, or NULL. */
static inline ucs_rcache_pred_timeq_elem_t *
ucs_rcache_pred_timeq_head(ucs_list_link_t *queue)
{
    return ucs_list_is_empty(queue) ?
           NULL :
           ucs_list_head(queue, ucs_rcache_pred_timeq_elem_t, list);
}

/** @return the time of the earliest element, or UCS_RCACHE_PRED_TIME_INF. */
static inline ucs_rcache_pred_time_t
ucs_rcache_pred_timeq_first(ucs_list_link_t *queue)
{
    return ucs_list_is_empty(queue) ?
           UCS_RCACHE_PRED_TIME_INF :
           ucs_rcache_pred_timeq_head(queue)->time;
}

#endif
