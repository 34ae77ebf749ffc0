/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "timeq.h"

#include <ucs/sys/compiler_def.h>
#include <ucs/sys/math.h>

/* The latest time in a queue. A later time counts as this one */
#define TIME_LAST ((ucs_rcache_pred_time_t)INT64_MAX)

typedef ucs_rcache_pred_timeq_elem_t elem_t;


static elem_t *node_elem(const ucs_tree_node_t *node)
{
    return ucs_container_of(node, elem_t, node);
}

static int is_earlier(const ucs_tree_node_t *node,
                      const ucs_tree_node_t *other)
{
    return node_elem(node)->time < node_elem(other)->time;
}

static int64_t branch_gaps(const ucs_tree_node_t *node)
{
    return (node == NULL) ? 0 : node_elem(node)->gaps;
}

static int64_t branch_ready(const ucs_tree_node_t *node)
{
    return (node == NULL) ? INT64_MAX : node_elem(node)->ready;
}

static int sum_branch(ucs_tree_node_t *node)
{
    elem_t *elem      = node_elem(node);
    int64_t old_gaps  = elem->gaps;
    int64_t old_ready = elem->ready;
    int64_t up_to     = branch_gaps(node->child[0]) + (int64_t)elem->gap;
    int64_t rest      = ucs_min((int64_t)elem->time,
                                branch_ready(node->child[1])) - up_to;

    elem->gaps  = up_to + branch_gaps(node->child[1]);
    elem->ready = ucs_min(branch_ready(node->child[0]), rest);
    return (elem->gaps != old_gaps) || (elem->ready != old_ready);
}

void ucs_rcache_pred_timeq_init(ucs_rcache_pred_timeq_t *queue)
{
    ucs_tree_init(&queue->tree, is_earlier, sum_branch);
}

void ucs_rcache_pred_timeq_insert(ucs_rcache_pred_timeq_t *queue,
                                  ucs_rcache_pred_timeq_elem_t *elem,
                                  ucs_rcache_pred_time_t time,
                                  ucs_rcache_pred_time_t gap)
{
    elem->time = ucs_min(time, TIME_LAST);
    elem->gap  = gap;
    ucs_tree_insert(&queue->tree, &elem->node);
}

void ucs_rcache_pred_timeq_remove(ucs_rcache_pred_timeq_t *queue,
                                  ucs_rcache_pred_timeq_elem_t *elem)
{
    ucs_tree_remove(&queue->tree, &elem->node);
}

ucs_rcache_pred_timeq_elem_t *
ucs_rcache_pred_timeq_head(const ucs_rcache_pred_timeq_t *queue)
{
    ucs_tree_node_t *node;

    node = ucs_tree_first(queue->tree.root);
    return (node == NULL) ? NULL : node_elem(node);
}

ucs_rcache_pred_time_t
ucs_rcache_pred_timeq_first(const ucs_rcache_pred_timeq_t *queue)
{
    int64_t first;

    if (ucs_rcache_pred_timeq_is_empty(queue)) {
        return UCS_RCACHE_PRED_TIME_INF;
    }

    /* The gap of the first element does not count, since no element comes before it */
    first = branch_ready(queue->tree.root) +
            (int64_t)ucs_rcache_pred_timeq_head(queue)->gap;
    return ucs_max(first, 0);
}
