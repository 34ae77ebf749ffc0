/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "lanes.h"

#include <ucs/rcache_pred/table/dq.h>
#include <ucs/rcache_pred/table/victim.h>

#include <ucs/sys/math.h>

/* The most entries of a lane that are moved to pred->dq under one hold of the lock: the
 * entries are in the cache of another processor, and threads wait for the lock meanwhile.
 * Each time that so many entries of pred->dq were taken out, entries of a lane are moved
 * there as well, so that those of the lane are not kept waiting */
#define MOVE_STEPS 32


void pred_close_lanes(ucs_rcache_pred_t *pred)
{
    pred_lanes_t *lanes = ucs_relaxed_load(&pred->lanes);
    pred_lane_t *lane;
    unsigned i;

    ucs_for_each_bit(i, lanes->used) {
        lane = &lanes->lanes[i];
        /* Sequentially consistent, like the exchange by which this thread took the lock
         * (lanes.h says why); and acquire: this thread sees what was written in the
         * lane */
        if (ucs_unlikely(atomic_load(&lane->busy))) {
            pred_spin_while_busy(pred, &lane->busy);
        }

        pred->stats.uses  += lane->uses;
        pred->stats.hits  += lane->hits;
        pred->stats.early += lane->early;
        if ((lane->uses > 0) || (lane->noted.first != NULL)) {
            lane->uses = lane->hits = lane->early = 0;
            ucs_rcache_pred_noted_move(&pred->table.noted, &lane->noted);
        }
    }
}

/* Move at most @a steps of the oldest entries of a lane to pred->dq, as long as pred->dq
 * has room. Entries of regions that were freed since the use are left out */
static void
lane_move(ucs_rcache_pred_t *pred, pred_lane_t *lane, unsigned steps)
{
    ucs_rcache_pred_dq_entry_t entry;

    while ((steps-- > 0) &&
           (ucs_rcache_pred_dq_next_dropped(&pred->dq) == NULL) &&
           ucs_rcache_pred_dq_pop(&lane->dq, &entry)) {
        if (entry.region->generation == entry.generation) {
            ucs_rcache_pred_dq_push(&pred->dq, &entry);
        }
    }
}

void pred_lane_give_region(ucs_rcache_pred_t *pred,
                           ucs_rcache_pred_region_t *region)
{
    const pred_lane_t *lane = pred_lane_find(ucs_relaxed_load(&pred->lanes));
    unsigned number         = (lane == NULL) ? 0 : lane->number;

    if (region->extent.lane == number) {
        return;
    }

    if ((region->extent.lane != 0) || (region->extent.claimant != number)) {
        region->extent.lane     = 0;
        region->extent.claimant = number;
        region->extent.claims   = 0;
    }

    if (++region->extent.claims >= PRED_LANE_CLAIMS) {
        region->extent.lane = number;
    }
}

/* Move entries to pred->dq from the next lane that has entries, after the lane from which
 * entries were last moved */
static void lanes_move(ucs_rcache_pred_t *pred, pred_lanes_t *lanes)
{
    unsigned i, place;

    for (i = 1; i <= PRED_LANES; ++i) {
        place = (lanes->moved + i) % PRED_LANES;
        if ((lanes->used & UCS_BIT(place)) &&
            !ucs_rcache_pred_dq_is_empty(&lanes->lanes[place].dq)) {
            lane_move(pred, &lanes->lanes[place], MOVE_STEPS);
            lanes->moved = place;
            return;
        }
    }
}

int pred_dq_pop(ucs_rcache_pred_t *pred, ucs_rcache_pred_dq_entry_t *entry,
                int *has_lost_p)
{
    pred_lanes_t *lanes = ucs_relaxed_load(&pred->lanes);
    int found           = ucs_rcache_pred_dq_pop(&pred->dq, entry);
    unsigned i;

    *has_lost_p = !ucs_list_is_empty(&pred->dq.lost);
    if (lanes == NULL) {
        return found;
    }

    ucs_for_each_bit(i, lanes->used) {
        *has_lost_p |= !ucs_list_is_empty(&lanes->lanes[i].dq.lost);
    }

    /* The entries of lanes move into the queue after the pop: the pop has made room for
     * at least one entry */
    if (!found || (++lanes->pops % MOVE_STEPS == 0)) {
        lanes_move(pred, lanes);
    }
    return found || ucs_rcache_pred_dq_pop(&pred->dq, entry);
}

ucs_rcache_pred_region_t *pred_dq_pop_lost(ucs_rcache_pred_t *pred)
{
    pred_lanes_t *lanes = ucs_relaxed_load(&pred->lanes);
    ucs_list_link_t *lost;
    unsigned i;

    if (lanes != NULL) {
        ucs_for_each_bit(i, lanes->used) {
            /* Behind the lost regions that pred->dq has already, so that each list has
             * its turn */
            lost = &lanes->lanes[i].dq.lost;
            if (!ucs_list_is_empty(lost)) {
                ucs_list_splice_tail(&pred->dq.lost, lost);
                ucs_list_head_init(lost);
            }
        }
    }

    return ucs_rcache_pred_dq_pop_lost(&pred->dq);
}

int pred_dq_is_empty(ucs_rcache_pred_t *pred)
{
    pred_lanes_t *lanes = ucs_relaxed_load(&pred->lanes);
    unsigned i;

    if (!ucs_rcache_pred_dq_is_empty(&pred->dq)) {
        return 0;
    }

    if (lanes != NULL) {
        ucs_for_each_bit(i, lanes->used) {
            if (!ucs_rcache_pred_dq_is_empty(&lanes->lanes[i].dq)) {
                return 0;
            }
        }
    }
    return 1;
}

uint64_t pred_dq_dropped(const ucs_rcache_pred_t *pred)
{
    const pred_lanes_t *lanes = ucs_relaxed_load(&pred->lanes);
    uint64_t dropped          = pred->dq.dropped;
    unsigned i;

    if (lanes != NULL) {
        ucs_for_each_bit(i, lanes->used) {
            dropped += lanes->lanes[i].dq.dropped;
        }
    }
    return dropped;
}
