/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "dq.h"

#include <stdlib.h>


ucs_status_t ucs_rcache_pred_dq_init(ucs_rcache_pred_dq_t *dq, unsigned size)
{
    dq->entries = calloc(size, sizeof(*dq->entries));
    if (dq->entries == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    dq->mask    = size - 1;
    dq->head    = 0;
    dq->tail    = 0;
    dq->dropped = 0;
    ucs_list_head_init(&dq->lost);
    return UCS_OK;
}

void ucs_rcache_pred_dq_cleanup(ucs_rcache_pred_dq_t *dq)
{
    free(dq->entries);
}

int ucs_rcache_pred_dq_pop(ucs_rcache_pred_dq_t *dq,
                           ucs_rcache_pred_dq_entry_t *entry)
{
    if (dq->head == dq->tail) {
        return 0;
    }

    *entry = *ucs_rcache_pred_dq_take_oldest(dq);
    if (dq->head == dq->tail) {
        /* Let the next entries use the first slots again: these are in the processor's
         * cache */
        dq->head = dq->tail = 0;
    }
    return 1;
}

ucs_rcache_pred_region_t *ucs_rcache_pred_dq_pop_lost(ucs_rcache_pred_dq_t *dq)
{
    ucs_rcache_pred_region_t *region;

    if (ucs_list_is_empty(&dq->lost)) {
        return NULL;
    }

    region       = ucs_list_extract_head(&dq->lost, ucs_rcache_pred_region_t,
                                         lost_link);
    region->lost = 0;
    return region;
}
