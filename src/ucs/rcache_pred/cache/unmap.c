/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "event.h"
#include "use.h"

#include <stdlib.h>

/*
 * Marks regions stale because their memory is unmapped or because their owner
 * invalidates them. No use finds a stale region, and the helper clears it away.
 * Any thread may call these functions, and unmaps come from memory hooks as
 * well.
 */


ucs_status_t pred_invalidate(ucs_rcache_pred_domain_t *domain, void *memh,
                             void (*cb)(void *arg), void *arg)
{
    ucs_rcache_pred_t *pred          = domain->pred;
    ucs_rcache_pred_waiter_t *waiter = malloc(sizeof(*waiter));
    ucs_rcache_pred_region_t *region;

    if (waiter == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    pred_lock(pred);
    region = ucs_rcache_pred_table_find_memh(&pred->table, domain, memh);
    if ((region == NULL) || (region->refs == 0)) {
        pred_unlock(pred);
        free(waiter);
        return UCS_ERR_NO_ELEM;
    }

    waiter->cb      = cb;
    waiter->arg     = arg;
    waiter->next    = region->waiters;
    region->waiters = waiter;
    region->stale   = 1;
    pred_unlock(pred);

    pred_note_stale(pred);
    return pred_use_end(domain, memh);
}

void ucs_rcache_pred_unmapped(ucs_rcache_pred_t *pred, uintptr_t start,
                              uintptr_t end)
{
    ucs_rcache_pred_region_t *region = NULL;
    unsigned found                   = 0;

    pred_lock(pred);
    while ((region = ucs_rcache_pred_table_overlap(&pred->table, region, start,
                                                   end)) != NULL) {
        if (!region->stale) {
            region->stale = 1;
            ++found;
        }
    }
    pred->stats.unmapped += found;
    if ((found > 0) && pred_has_sink(pred)) {
        pred_emit_unmap(pred, start, end);
    }
    pred_unlock(pred);

    if (found > 0) {
        pred_note_stale(pred);
        pred_wake(pred);
    }
}
