/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "decide.h"
#include "helper.h"
#include "spend.h"

#include <ucs/rcache_pred/cache/lanes.h>
#include <ucs/rcache_pred/table/dq.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

/*
 * What the helper clears away: stale regions, and regions that were not used for long.
 * Also processes lost regions, of whose last use the DQ has no entry.
 */

/* How many regions a round looks at to find those that can be forgotten */
#define GC_STEPS 64

/* If more than this part, 1/16, of the remembered regions are newcomers, of which nobody
 * knows yet whether they will recur, newcomers are forgotten first */
#define NEWCOMERS_SHARE 16

/* While newcomers are forgotten first, one in so many steps is a step of the clock's hand
 * nevertheless. A region that recurs is not forgotten if the program uses it again before
 * it has used 2 * HAND_SHARE times as many new regions as are remembered */
#define HAND_SHARE 8


int pred_reap_stale(ucs_rcache_pred_t *pred, unsigned steps)
{
    ucs_list_link_t *stale = &pred->table.stale;
    ucs_rcache_pred_region_t *region;

    /* Clear the flag before the list is read: a region that becomes stale meanwhile sets
     * the flag again, and the next round finds it */
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

        region = ucs_rcache_pred_region_of(
                ucs_list_head(stale, ucs_rcache_pred_extent_t, stale_link));
        pred_unlock(pred);
        if (region->num_joined > 0) {
            ucs_debug("%s: the slices of the burst at %p are apart again",
                      region->extent.domain->name, (void*)region->start);
            pred_refund_on_use(pred, region); /* Its slices will be paid for anew */
        }
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
    int ended, is_unknown, is_news;

    pred_lock(pred);
    region = pred_dq_pop_lost(pred);
    if (region == NULL) {
        pred_unlock(pred);
        return 0;
    }

    ucs_rcache_pred_dq_last_use(region, &last_use);
    /* Otherwise the region is being cleared away, or the end of a use will add an
     * entry */
    ended      = !region->extent.stale && (region->refs == 0) &&
                 (region->in_pieces == 0);
    is_unknown = ended && pred_region_has_news(region);
    is_news    = is_unknown && pred_region_learn_needs(pred, &last_use);
    pred_unlock(pred);

    if (is_unknown) {
        pred_process_dq_entry(pred, &last_use, is_news);
    } else if (ended) {
        /* The guard of the region has ended after the helper had learned of its last
         * use */
        pred_region_decide(pred, region);
    }
    return 1;
}

ucs_rcache_pred_region_t *
pred_hand_region(ucs_rcache_pred_t *pred, const pred_hand_t *hand)
{
    ucs_rcache_pred_region_t *region = hand->region;

    /* The memory of a region stays when the region is gone */
    if ((region != NULL) && (region->generation == hand->generation) &&
        (region->extent.known.start == hand->start)) {
        return region;
    }

    region = ucs_rcache_pred_table_from(&pred->table, hand->start);
    return (region != NULL) ? region :
                              ucs_rcache_pred_table_from(&pred->table, 0);
}

void pred_hand_set(pred_hand_t *hand, ucs_rcache_pred_region_t *region)
{
    *hand = (pred_hand_t){};
    if (region != NULL) {
        hand->start      = region->extent.known.start;
        hand->region     = region;
        hand->generation = region->generation;
    }
}

/* Whether a region can be forgotten now: it is neither registered nor in use, and
 * no registration of it is scheduled */
static int is_forgettable(const ucs_rcache_pred_region_t *region)
{
    return (region->extent.state == UCS_RCACHE_PRED_EXTENT_IDLE) &&
           (region->refs == 0) && (region->in_pieces == 0) &&
           !region->scheduled;
}

/* @return the youngest newcomer, if it can be forgotten. If not, NULL; the newcomer
 * becomes the last one to be looked at. */
static ucs_rcache_pred_region_t *gc_newcomer(ucs_rcache_pred_table_t *table)
{
    ucs_rcache_pred_region_t *region;

    region = ucs_list_tail(&table->newcomers, ucs_rcache_pred_region_t, list);
    if (is_forgettable(region)) {
        return region;
    }

    ucs_list_del(&region->list);
    ucs_list_add_head(&table->newcomers, &region->list);
    return NULL;
}

/* Take a step with the hand of the clock. @return the region at the hand, if it can be
 * forgotten and was not used since the hand passed it last; else NULL.
 *
 * @param [out] progress_p  Set to 1 if the region can be forgotten, now or when the hand
 *                          comes round again. */
static ucs_rcache_pred_region_t *gc_hand_step(ucs_rcache_pred_t *pred,
                                              int *progress_p)
{
    ucs_rcache_pred_region_t *region = pred_hand_region(pred,
                                                        &pred->rounds.gc_hand);

    pred_hand_set(&pred->rounds.gc_hand, ucs_rcache_pred_region_next(region));
    if (!is_forgettable(region)) {
        return NULL;
    }

    *progress_p = 1;
    if (!region->referenced) {
        return region;
    }

    region->referenced = 0;
    return NULL;
}

/* Look for a region that can be forgotten. If a program goes through more buffers in
 * turns than are remembered, the clock alone would always forget the buffer that comes
 * next. So regions that have recurred stay, and the youngest newcomers are forgotten
 * first, unless there are few newcomers. But the hand goes on meanwhile, slowly: in the
 * end it finds regions that have recurred and that the program does not use any more. */
static ucs_rcache_pred_region_t *gc_step(ucs_rcache_pred_t *pred,
                                         int *progress_p)
{
    pred_rounds_t *rounds = &pred->rounds;

    if ((pred->table.num_newcomers >
         pred->forgotten.limit / NEWCOMERS_SHARE) &&
        (rounds->gc_steps++ % HAND_SHARE != 0)) {
        return gc_newcomer(&pred->table);
    }

    return gc_hand_step(pred, progress_p);
}

int pred_collect_garbage(ucs_rcache_pred_t *pred)
{
    int progress   = 0;
    unsigned steps = GC_STEPS;
    ucs_rcache_pred_region_t *region;

    pred_lock(pred);
    ucs_rcache_pred_site_table_expect(&pred->predictor.sites,
                                      ucs_min(pred->table.count,
                                              pred->forgotten.limit));
    while ((pred->table.count > pred->forgotten.limit) && (steps-- > 0)) {
        region = gc_step(pred, &progress);
        if (region == NULL) {
            continue;
        }

        progress      = 1;
        region->extent.stale = 1; /* No use finds the region from here on */
        ucs_rcache_pred_forgotten_add(&pred->forgotten, region->start);
        pred_spend_on_forgotten(pred, region);
        pred_unlock(pred);
        pred_forget_region(pred, region);
        pred_lock(pred);
    }
    pred_unlock(pred);
    return progress;
}
