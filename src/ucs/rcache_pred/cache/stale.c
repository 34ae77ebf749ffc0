/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "register.h"
#include "stale.h"

/* A use deregisters so many at most. Whoever unmaps more between two uses leaves
 * the rest to the next uses and to the helper */
#define MAX_STALE 64


/* The first stale region that is registered, or NULL. Those that are registered
 * come first in the list. Under lock. */
static ucs_rcache_pred_region_t *first_stale(ucs_rcache_pred_table_t *table)
{
    ucs_rcache_pred_region_t *region;

    if (ucs_list_is_empty(&table->stale)) {
        return NULL;
    }

    region = ucs_list_head(&table->stale, ucs_rcache_pred_region_t, list);
    return (region->state == UCS_RCACHE_PRED_REGION_REGISTERED) ? region : NULL;
}

void pred_deregister_stale(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_table_t *table = &pred->table;
    unsigned left                  = MAX_STALE;
    ucs_rcache_pred_region_t *region;
    pred_handle_t handle;

    while ((left-- > 0) && ((region = first_stale(table)) != NULL)) {
        handle = pred_take_handle(pred, region);
        pred_unlock(pred);
        pred_deregister(&handle, UCS_RCACHE_PRED_BY_USE);
        pred_lock(pred);
    }
}
