/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "region.h"

/*
 * What holds of each extent whenever the cache's lock is free: see "Invariants" in
 * docs/design/regions.md.
 */


/* Whether searches of the tree find an extent by this kind of range: the field max_end of
 * the extent, and of each extent above it in the tree, is not below the end of its
 * range */
static int is_found(const ucs_rcache_pred_extent_t *extent,
                    ucs_rcache_pred_range_kind_t kind)
{
    uintptr_t end               = ucs_rcache_pred_extent_end(extent, kind);
    const ucs_tree_node_t *node = &extent->tree_node;

    while ((node != NULL) && (ucs_rcache_pred_branch_end(node, kind) >= end)) {
        node = node->parent;
    }

    return node == NULL;
}

const char *ucs_rcache_pred_extent_broken(const ucs_rcache_pred_table_t *table,
                                          const ucs_rcache_pred_extent_t *extent)
{
    const ucs_rcache_pred_region_t *region = ucs_rcache_pred_region_of(extent);
    int is_registered = (extent->state == UCS_RCACHE_PRED_EXTENT_REGISTERED);

    return (region->generation == 0) ?
           "I1: an extent in the tree has no region" :
           (!extent->stale &&
            !ucs_rcache_pred_range_has(&extent->known, &extent->range)) ?
           "I3: more of an extent is registered than is known" :
           (is_registered &&
            (ucs_rcache_pred_table_search_memh(table, extent->domain,
                                               extent->memh) != extent)) ?
           "I4: a registered extent is not found by its handle" :
           (!is_registered && (region->refs > 0)) ?
           "I5: an extent is used and not registered" :
           (!is_found(extent, UCS_RCACHE_PRED_RANGE_KNOWN) ||
            !is_found(extent, UCS_RCACHE_PRED_RANGE_REGISTERED)) ?
           "I7: an extent is not found by its range" : NULL;
}
