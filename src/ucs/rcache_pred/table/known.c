/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "known.h"


/* Whether an extent has a range of this kind that ends after the address @a start */
static int ends_after(const ucs_tree_node_t *node,
                      ucs_rcache_pred_range_kind_t kind, uintptr_t start)
{
    return ucs_rcache_pred_extent_end(ucs_tree_extent(node),
                                      kind) > start;
}

/* @return the first extent of a branch whose range of this kind ends after the address
 *         @a start. The branch must have such an extent. */
static const ucs_tree_node_t *
first_after(const ucs_tree_node_t *node,
            ucs_rcache_pred_range_kind_t kind, uintptr_t start)
{
    for (;;) {
        if (ucs_rcache_pred_branch_end(node->child[0], kind) > start) {
            node = node->child[0];
        } else if (ends_after(node, kind, start)) {
            return node;
        } else {
            node = node->child[1];
        }
    }
}

/* @return of the extents that follow @a node in the order of the tree, the
 *         first one whose range ends after the address @a start; NULL: there is
 *         none. */
static const ucs_tree_node_t *
next_after(const ucs_tree_node_t *node,
           ucs_rcache_pred_range_kind_t kind, uintptr_t start)
{
    const ucs_tree_node_t *below;

    for (;;) {
        if (ucs_rcache_pred_branch_end(node->child[1], kind) > start) {
            return first_after(node->child[1], kind, start);
        }

        do {
            below = node;
            node  = node->parent;
            if (node == NULL) {
                return NULL;
            }
        } while (below == node->child[1]);

        if (ends_after(node, kind, start)) {
            return node;
        }
    }
}

ucs_rcache_pred_extent_t *
ucs_rcache_pred_table_overlap(const ucs_rcache_pred_table_t *table,
                              ucs_rcache_pred_extent_t *extent,
                              const ucs_rcache_pred_range_t *range,
                              ucs_rcache_pred_range_kind_t kind)
{
    const ucs_tree_node_t *node = table->tree.root;

    if (extent != NULL) {
        node = next_after(&extent->tree_node, kind, range->start);
    } else if (ucs_rcache_pred_branch_end(node, kind) > range->start) {
        node = first_after(node, kind, range->start);
    } else {
        node = NULL;
    }

    /* The tree is ordered by the starts of known ranges. The registered range of an
     * extent may start later than its known range */
    for (; node != NULL; node = next_after(node, kind, range->start)) {
        extent = ucs_tree_extent(node);
        if (extent->known.start >= range->end) {
            break;
        }

        if ((kind == UCS_RCACHE_PRED_RANGE_KNOWN) ||
            (extent->range.start < range->end)) {
            return extent;
        }
    }

    return NULL;
}

/* Change the known range of an extent, and its place in the tree */
static void set_known(ucs_rcache_pred_table_t *table,
                      ucs_rcache_pred_extent_t *extent,
                      const ucs_rcache_pred_range_t *known)
{
    if (known->start == extent->known.start) {
        extent->known = *known;
        ucs_tree_update(&table->tree, &extent->tree_node);
        return;
    }

    ucs_tree_remove(&table->tree, &extent->tree_node);
    extent->known = *known;
    ucs_tree_insert(&table->tree, &extent->tree_node);
}

void ucs_rcache_pred_extent_set_range(ucs_rcache_pred_table_t *table,
                                      ucs_rcache_pred_extent_t *extent,
                                      const ucs_rcache_pred_range_t *range)
{
    ucs_rcache_pred_range_t known = *range;

    if (ucs_rcache_pred_range_meets(&extent->known, range)) {
        known = ucs_rcache_pred_range_hull(&extent->known, range);
    } else {
        /* The memory between the two ranges was unmapped, or was never used */
        extent->joined.start = extent->joined.end = 0;
    }
    extent->range = *range;
    set_known(table, extent, &known);
}

void ucs_rcache_pred_extent_claim(ucs_rcache_pred_table_t *table,
                                  ucs_rcache_pred_extent_t *extent,
                                  const ucs_rcache_pred_range_t *range,
                                  unsigned access)
{
    extent->state     = UCS_RCACHE_PRED_EXTENT_REGISTERING;
    extent->claim     = ++table->claims;
    extent->access    = access;
    extent->overtaken = 0;
    ucs_rcache_pred_extent_set_range(table, extent, range);
}

void ucs_rcache_pred_extent_unclaim(ucs_rcache_pred_table_t *table,
                                    ucs_rcache_pred_extent_t *extent)
{
    extent->state       = UCS_RCACHE_PRED_EXTENT_IDLE;
    extent->maybe_spare = 0;
    extent->touches     = 0;
    ucs_tree_update(&table->tree, &extent->tree_node);
}

void ucs_rcache_pred_extent_join(ucs_rcache_pred_table_t *table,
                                 ucs_rcache_pred_extent_t *extent,
                                 const ucs_rcache_pred_range_t *range)
{
    ucs_rcache_pred_range_t known;

    known          = ucs_rcache_pred_range_hull(&extent->known, range);
    extent->joined = *range;
    set_known(table, extent, &known);
}

void ucs_rcache_pred_extent_cut(ucs_rcache_pred_table_t *table,
                                ucs_rcache_pred_extent_t *extent,
                                const ucs_rcache_pred_range_t *unmapped)
{
    ucs_rcache_pred_range_t known = extent->known;

    if (ucs_rcache_pred_range_overlaps(&extent->joined, unmapped)) {
        /* Let the extent stand for no slices any more */
        extent->joined.start = extent->joined.end = 0;
    }

    if (unmapped->start >= extent->range.end) {
        known.end   = ucs_min(known.end, unmapped->start);
    } else {
        known.start = ucs_max(known.start, unmapped->end);
    }
    set_known(table, extent, &known);
}

void ucs_rcache_pred_region_add_recent(ucs_rcache_pred_region_t *region,
                                       const ucs_rcache_pred_range_t *range,
                                       unsigned access, int renewed)
{
    unsigned i = region->last_recent;

    if (renewed && (++region->recent_times > UCS_RCACHE_PRED_RECENT_TIMES)) {
        i = (i + 1) % UCS_RCACHE_PRED_RECENT;
        region->last_recent  = i;
        region->recent_times = 1;
        region->recent[i].end = 0;
        region->accesses[i]   = 0;
    }

    region->accesses[i] |= access;
    region->recent[i]    = (region->recent[i].end == 0) ? *range :
                           ucs_rcache_pred_range_hull(&region->recent[i],
                                                      range);
}

ucs_rcache_pred_range_t
ucs_rcache_pred_region_expected(const ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_range_t expected = {.start = UINTPTR_MAX, .end = 0};
    const ucs_rcache_pred_range_t *recent;
    unsigned i;

    for (i = 0; i < UCS_RCACHE_PRED_RECENT; ++i) {
        recent = &region->recent[i];
        if (ucs_rcache_pred_range_overlaps(recent, &region->extent.known)) {
            expected = ucs_rcache_pred_range_hull(&expected, recent);
        }
    }

    expected.start = ucs_max(expected.start, region->extent.known.start);
    expected.end   = ucs_min(expected.end, region->extent.known.end);
    /* If no recent use has bytes of the known range, expect what was registered last */
    return (expected.start < expected.end) ? expected : region->extent.range;
}
