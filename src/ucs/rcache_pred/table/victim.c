/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "victim.h"

#include <ucs/sys/math.h>

/* How many ranks are brought up to date under one hold of the lock */
#define RANK_STEPS 64

/* How many extents a search for the victim of one domain looks at. If it finds none, the
 * limits of the domain are exceeded, which does no harm. Where a process has few domains,
 * and uses its buffers in all of them, the victim is among the first extents */
#define DOMAIN_STEPS 256

/*
 * The rank of an extent is the deadline of its region, if a next use is expected. If none
 * is, the rank is higher than all deadlines, and the higher, the longer ago the region was
 * used.
 */
#define RANK_LAST_DEADLINE ((uint64_t)INT64_MAX)


uint64_t ucs_rcache_pred_extent_get_rank(const ucs_rcache_pred_extent_t *extent)
{
    const ucs_rcache_pred_region_t *region = ucs_rcache_pred_region_of(extent);
    ucs_rcache_pred_time_t deadline;

    if ((extent->state != UCS_RCACHE_PRED_EXTENT_REGISTERED) ||
        (region->refs > 0)) {
        return 0;
    }

    deadline = ucs_rcache_pred_region_deadline(region);
    return (deadline == UCS_RCACHE_PRED_TIME_INF) ?
           (UINT64_MAX - ucs_min(region->begin, RANK_LAST_DEADLINE)) :
           ucs_min(deadline, RANK_LAST_DEADLINE);
}

int ucs_rcache_pred_extent_rank(ucs_rcache_pred_table_t *table,
                                ucs_rcache_pred_extent_t *extent)
{
    uint64_t rank = ucs_rcache_pred_extent_get_rank(extent);

    if (rank == extent->rank) {
        return 0;
    }

    extent->rank = rank;
    ucs_tree_update(&table->tree, &extent->tree_node);
    return 1;
}

int ucs_rcache_pred_table_rank_noted(ucs_rcache_pred_table_t *table,
                                     unsigned steps)
{
    ucs_rcache_pred_region_t *region;

    while (((region = table->noted.first) != NULL) && (steps-- > 0)) {
        table->noted.first = region->next_noted;
        region->noted      = 0;
        if (region->generation != 0) { /* Not freed meanwhile */
            ucs_rcache_pred_extent_rank(table, &region->extent);
        }
    }

    return region != NULL;
}

/* @return the extent with the highest rank; NULL: all ranks are 0. Of several such
 * extents it is the first one in the order of the tree. */
static ucs_rcache_pred_extent_t *
table_highest(const ucs_rcache_pred_table_t *table)
{
    const ucs_tree_node_t *node = table->tree.root;
    uint64_t rank                           = ucs_rcache_pred_branch_rank(node);

    if (rank == 0) {
        return NULL;
    }

    for (;;) {
        if (ucs_rcache_pred_branch_rank(node->child[0]) == rank) {
            node = node->child[0];
        } else if (ucs_tree_extent(node)->rank == rank) {
            return ucs_tree_extent(node);
        } else {
            node = node->child[1];
        }
    }
}

/* @return the extent of a domain with the highest rank in a branch, or @a best if no
 * extent of the domain in the branch has a higher rank. Branches without a higher rank
 * are passed by.
 * @param [in,out] steps  How many extents the search may still look at. */
static ucs_rcache_pred_extent_t *
branch_highest(const ucs_tree_node_t *node,
               const struct ucs_rcache_pred_domain *domain,
               ucs_rcache_pred_extent_t *best, unsigned *steps)
{
    ucs_rcache_pred_extent_t *extent;
    int first;

    if ((*steps == 0) || (ucs_rcache_pred_branch_rank(node) <=
                          ((best == NULL) ? 0 : best->rank))) {
        return best;
    }

    --*steps;
    first  = ucs_rcache_pred_branch_rank(node->child[1]) >
             ucs_rcache_pred_branch_rank(node->child[0]);
    extent = ucs_tree_extent(node);
    if ((extent->domain == domain) &&
        (extent->rank > ((best == NULL) ? 0 : best->rank))) {
        best = extent;
    }
    best   = branch_highest(node->child[first], domain, best, steps);
    return branch_highest(node->child[!first], domain, best, steps);
}

static ucs_rcache_pred_extent_t *
table_highest_of(const ucs_rcache_pred_table_t *table,
                 const struct ucs_rcache_pred_domain *domain)
{
    unsigned steps = DOMAIN_STEPS;

    return (domain == NULL) ?
           table_highest(table) :
           branch_highest(table->tree.root, domain, NULL, &steps);
}

int ucs_rcache_pred_table_victim(ucs_rcache_pred_table_t *table,
                                 const struct ucs_rcache_pred_domain *domain,
                                 ucs_rcache_pred_extent_t **victim_p)
{
    unsigned steps = RANK_STEPS;

    if (ucs_rcache_pred_table_rank_noted(table, steps)) {
        return 0;
    }

    while (steps-- > 0) {
        *victim_p = table_highest_of(table, domain);
        if ((*victim_p == NULL) ||
            !ucs_rcache_pred_extent_rank(table, *victim_p)) {
            return 1;
        }
    }

    return 0;
}
