/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "decide.h"
#include "helper.h"
#include "spend.h"

#include <ucs/rcache_pred/cache/bound.h>
#include <ucs/rcache_pred/cache/lanes.h>

#include <stdio.h>
#include <stdlib.h>

/*
 * One round of the helper (CF'11, section 3.2).
 */

/* First guesses of how long the helper takes to process an entry, ns. Later
 * these times are measured */
#define DQ_ITEM_COST 1000
#define RQ_ITEM_COST 1000
#define WAKEUP_COST  50000

/* How many extents a debug build checks after each round: each round goes on where the
 * round before has ended */
#define CHECK_STEPS 64


void pred_rounds_init(ucs_rcache_pred_t *pred)
{
    pred_rounds_t *rounds = &pred->rounds;

    ucs_rcache_pred_timeq_init(&rounds->rq);
    ucs_rcache_pred_timeq_init(&rounds->awaited);
    rounds->times.dq_item = DQ_ITEM_COST;
    rounds->times.rq_item = RQ_ITEM_COST;
    rounds->times.wakeup  = WAKEUP_COST;
    pred_pace_init(pred);
    pred_spend_init(pred);
}

/* Process one entry of the DQ, if there is one. @return whether there was */
static int dq_step(ucs_rcache_pred_t *pred)
{
    pred_rounds_t *rounds = &pred->rounds;
    int is_current = 0, is_news = 0;
    ucs_rcache_pred_dq_entry_t entry;
    int found;

    rounds->has_lost = 0;
    if (!pred_spend_may_look(pred, rounds->now)) {
        return 0;
    }

    pred_lock(pred);
    found = pred_dq_pop(pred, &entry, &rounds->has_lost);
    if (found) {
        is_current = pred_entry_is_current(&entry);
        is_news    = is_current && pred_region_learn_needs(pred, &entry);
    }
    pred_unlock(pred);
    if (!found) {
        rounds->emptied = rounds->now;
        return 0;
    }

    rounds->fed        = rounds->last;
    rounds->last_entry = rounds->now;
    if (is_current) {
        pred_process_dq_entry(pred, &entry, is_news);
        pred_step_end(pred, &rounds->times.dq_item);
    }
    return 1;
}

/* Process one lost region, if dq_step() has seen that there is one, and there still is
 * budget to look. @return whether there was a region to process */
static int lost_step(ucs_rcache_pred_t *pred)
{
    if (!pred->rounds.has_lost || !pred_spend_may_look(pred, pred->rounds.now) ||
        !pred_process_lost(pred)) {
        return 0;
    }

    pred_step_begin(pred);
    return 1;
}

/* Process the head of the registration queue, if it is due. @return whether it
 * was */
static int rq_step(ucs_rcache_pred_t *pred)
{
    if (pred_rq_due_time(pred) > pred->rounds.now) {
        return 0;
    }

    pred_process_rq_head(pred);
    pred_step_end(pred, &pred->rounds.times.rq_item);
    return 1;
}

/* Process the head of the awaited list, if its time is over. @return whether it
 * was */
static int awaited_step(ucs_rcache_pred_t *pred)
{
    pred_rounds_t *rounds = &pred->rounds;

    if ((ucs_rcache_pred_timeq_first(&rounds->awaited) > rounds->now) ||
        !pred_spend_may_look(pred, rounds->now)) {
        return 0;
    }

    pred_process_awaited_head(pred);
    pred_step_begin(pred);
    return 1;
}

/* Let check_absent() know that the thread that does the round gets on with it, however
 * long the round takes in all */
static void show_presence(ucs_rcache_pred_t *pred)
{
    _Atomic(unsigned) *checks = &pred->absence.checks;

    /* Relaxed, see check_absent(). Written only if need be, since uses read other fields
     * of the same cache line */
    if (ucs_unlikely(ucs_relaxed_load(checks) > 0)) {
        ucs_relaxed_store(checks, 0);
    }
}

static void round_begin(ucs_rcache_pred_t *pred)
{
    ucs_rcache_pred_time_t now = pred_now(pred);

    atomic_store(&pred->handshake.asleep, 0);
    show_presence(pred);
    if (pred->rounds.slept) {
        /* The first end of a use wakes the sleeping thread at once, so that no use has
         * ended earlier */
        pred->rounds.emptied = now;
        pred->rounds.slept   = 0;
    }
    pred_measure_wakeup(pred, now);
    pred_pace_round(pred, now);
    pred_spend_round_begin(pred, now);
    pred_shortage_look(pred, now);
    pred_take_seat(pred, now);
    pred_answer_node(pred);
}

/* In a debug build, end the process if an extent breaks an invariant */
static void check_extents(ucs_rcache_pred_t *pred)
{
#if UCS_ASSERT_RANKS
    unsigned left = CHECK_STEPS;
    ucs_rcache_pred_region_t *region;
    const char *broken;

    pred_lock(pred);
    region = pred_hand_region(pred, &pred->rounds.check_hand);
    while ((region != NULL) && (left-- > 0)) {
        broken = ucs_rcache_pred_extent_broken(&pred->table, &region->extent);
        if (broken != NULL) {
            fprintf(stderr, "ucx-predreg: %p: %s\n", (void*)region->start, broken);
            abort();
        }
        region = ucs_rcache_pred_region_next(region);
    }
    pred_hand_set(&pred->rounds.check_hand, region);
    pred_unlock(pred);
#endif
}

ucs_rcache_pred_time_t pred_helper_round(ucs_rcache_pred_t *pred,
                                         unsigned steps)
{
    unsigned left = steps;
    int busy, more;

    round_begin(pred);
    more = pred_reap_stale(pred, steps);
    pred_step_begin(pred);

    /* The queues take turns, so that none of them makes the others late. The number of
     * turns is bounded, since another thread may be waiting for helper_mutex */
    do {
        show_presence(pred);
        busy  = dq_step(pred);
        busy |= lost_step(pred);
        busy |= rq_step(pred);
        busy |= awaited_step(pred);
    } while (busy && (--left > 0));

    pred_keep_room(pred);
    more             |= pred_collect_garbage(pred);
    pred_spend_round_end(pred);
    pred->rounds.next = (busy || more) ? pred_go_on(pred) : pred_sleep(pred);
    pred_publish(pred);
    check_extents(pred);
    return pred->rounds.next;
}
