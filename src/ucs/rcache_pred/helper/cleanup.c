/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper_int.h"

/*
 * What the helper clears away: regions that serve no use any more, those whose
 * entries the DQ lost, and those that nobody has used for long.
 */


/* Clear away regions that serve no use any more, at most so many.
 * @return whether there are more. */
int pred_reap_stale(ucs_rcache_pred_t *pred, unsigned steps)
{
    ucs_rcache_pred_region_t *region;
    unsigned i;

    /* Before looking, so that what is marked meanwhile is looked for again */
    if (!atomic_exchange(&pred->stale, 0)) {
        return 0;
    }

    ucs_spin_lock(&pred->lock);
    for (i = 0; i < pred->table.count;) {
        region = pred->table.sorted[i];
        if (!region->stale || (region->refs > 0) ||
            (region->state == UCS_RCACHE_PRED_REGION_REGISTERING)) {
            ++i;
            continue;
        }

        if (steps-- == 0) {
            atomic_store(&pred->stale, 1);
            ucs_spin_unlock(&pred->lock);
            return 1;
        }

        ucs_spin_unlock(&pred->lock);
        pred_region_deregister(pred, region);
        pred_forget_region(pred, region);
        ucs_spin_lock(&pred->lock);
        /* Go on at i: uses only add regions meanwhile, nobody else frees any */
    }
    ucs_spin_unlock(&pred->lock);
    return 0;
}

/* Its entry of the DQ is lost, or late: that the region was used is known all
 * the same. In what context, is not. Under the lock */
static void region_note_use(ucs_rcache_pred_t *pred,
                            ucs_rcache_pred_region_t *region)
{
    if (pred_region_has_news(region)) {
        ucs_rcache_pred_history_add(&region->forecast.history, region->begin,
                                    pred->params.history);
    }
}

/* The DQ lost entries: find registered regions that nothing is known about, and
 * decide about at most so many.
 * @return whether there are more. */
int pred_sweep_dropped(ucs_rcache_pred_t *pred, unsigned steps)
{
    ucs_rcache_pred_region_t *region;
    unsigned i;

    if (pred->dq.dropped == pred->dropped_seen) {
        return 0;
    }

    ucs_spin_lock(&pred->lock);
    pred->stats.dq_dropped = pred->dropped_seen = pred->dq.dropped;
    for (i = 0; i < pred->table.count; ++i) {
        region = pred->table.sorted[i];
        if ((region->state == UCS_RCACHE_PRED_REGION_REGISTERED) &&
            (region->refs == 0) && !region->stale &&
            (!region->queued || region->scheduled ||
             pred_region_has_news(region))) {
            if (steps-- == 0) {
                pred->dropped_seen = UINT64_MAX; /* Come back here */
                ucs_spin_unlock(&pred->lock);
                return 1;
            }

            region_note_use(pred, region);
            ucs_spin_unlock(&pred->lock);
            pred_region_decide(pred, region);
            ucs_spin_lock(&pred->lock);
        }
    }
    ucs_spin_unlock(&pred->lock);
    return 0;
}

/* Forget unregistered regions that were not used for long, if there are too
 * many: the CLOCK algorithm, a bounded number of steps a round.
 * @return whether another round may find more. */
int pred_collect_garbage(ucs_rcache_pred_t *pred)
{
    int progress   = 0;
    unsigned steps = 64;
    ucs_rcache_pred_region_t *region;

    ucs_spin_lock(&pred->lock);
    while ((pred->table.count > pred->params.known_regions) && (steps-- > 0)) {
        pred->gc_hand = (pred->gc_hand + 1) % pred->table.count;
        region        = pred->table.sorted[pred->gc_hand];
        if ((region->state != UCS_RCACHE_PRED_REGION_IDLE) ||
            (region->refs > 0) || (region->in_pieces > 0) || region->scheduled) {
            continue;
        }

        progress = 1;
        if (region->referenced) {
            region->referenced = 0;
            continue;
        }

        region->stale = 1; /* No use finds it from here on */
        ucs_spin_unlock(&pred->lock);
        pred_forget_region(pred, region);
        ucs_spin_lock(&pred->lock);
    }
    ucs_spin_unlock(&pred->lock);
    return progress;
}
