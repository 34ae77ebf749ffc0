/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "cleanup.h"
#include "decide.h"
#include "queue.h"
#include "spend.h"

/*
 * What the helper clears away: stale regions, regions whose entries the DQ has
 * lost, and regions that were not used for long.
 */

/* How many regions a round looks at to find those that can be forgotten */
#define GC_STEPS 64


int pred_reap_stale(ucs_rcache_pred_t *pred, unsigned steps)
{
    ucs_list_link_t *stale = &pred->table.stale;
    ucs_rcache_pred_region_t *region;

    /* Cleared before the regions are looked at, so that regions which become
     * stale meanwhile are found the next time */
    if (!atomic_exchange(&pred->handshake.stale, 0)) {
        return 0;
    }

    pred->rounds.reaped = pred->rounds.last;
    pred_lock(pred);
    while (!ucs_list_is_empty(stale)) {
        if (steps-- == 0) {
            pred_note_stale(pred);
            pred_unlock(pred);
            return 1;
        }

        region = ucs_list_head(stale, ucs_rcache_pred_region_t, list);
        pred_unlock(pred);
        pred_region_deregister(pred, region);
        pred_forget_region(pred, region);
        pred_lock(pred);
    }
    pred_unlock(pred);
    return 0;
}

int pred_process_lost(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_dq_entry_t last_use;
    ucs_rcache_pred_region_t *region;
    int ended;

    pred_lock(pred);
    pred->stats.dq_dropped = pred->dq.dropped;
    region                 = ucs_rcache_pred_dq_pop_lost(&pred->dq);
    if (region == NULL) {
        pred_unlock(pred);
        return 0;
    }

    last_use = pred_last_use(region);
    /* Otherwise the region is being reaped, or an entry will follow */
    ended    = !region->stale && (region->refs == 0) &&
               (region->in_pieces == 0);
    pred_unlock(pred);

    if (ended) {
        pred_process_dq_entry(pred, &last_use);
    }
    return 1;
}

/* The region at which the hand of the clock is */
static ucs_rcache_pred_region_t *gc_region(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_region_t *region;

    region = ucs_rcache_pred_table_from(&pred->table, pred->rounds.gc_hand);
    return (region != NULL) ? region :
                              ucs_rcache_pred_table_from(&pred->table, 0);
}

/* Move the hand of the clock on. @return the region at which it is now. */
static ucs_rcache_pred_region_t *gc_next(ucs_rcache_pred_t *pred,
                                         ucs_rcache_pred_region_t *region)
{
    region                = ucs_rcache_pred_region_next(region);
    pred->rounds.gc_hand = (region == NULL) ? 0 : region->known.start;
    return (region != NULL) ? region : gc_region(pred);
}

/* Finds regions by the CLOCK algorithm, with a bounded number of steps in a
 * round */
int pred_collect_garbage(ucs_rcache_pred_t *pred)
{
    int progress   = 0;
    unsigned steps = GC_STEPS;
    ucs_rcache_pred_region_t *region, *next;

    pred_lock(pred);
    for (region = gc_region(pred);
         (pred->table.count > pred->params.known_regions) && (steps-- > 0);
         region = next) {
        next = gc_next(pred, region);
        if ((region->state != UCS_RCACHE_PRED_REGION_IDLE) ||
            (region->refs > 0) || (region->in_pieces > 0) ||
            region->scheduled) {
            continue;
        }

        progress = 1;
        if (region->referenced) {
            region->referenced = 0;
            continue;
        }

        region->stale = 1; /* No use finds the region from here on */
        pred_unlock(pred);
        pred_spend_on_forgotten(pred, region);
        pred_forget_region(pred, region);
        pred_lock(pred);
    }
    pred_unlock(pred);
    return progress;
}
