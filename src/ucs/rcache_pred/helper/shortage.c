/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "helper.h"
#include "spend.h"

#include <ucs/sys/math.h>

/*
 * While processes wait for memory, the helper may spend more on giving memory up, and its
 * thread does the work even if no processor is idle: the program that would do it waits,
 * or computes, with the memory of its last messages still registered.
 */

/* How often to look whether memory is short, ns */
#define LOOK_INTERVAL 250000000


/* Have the helper decide anew about all regions that are kept: for lack of budget, or until
 * uses that are awaited. That these uses have not come yet says nothing about predictions. */
static void reconsider(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    ucs_tree_node_t *node;

    for (node = ucs_tree_first(pred->rounds.awaited.tree.root); node != NULL;
         node = ucs_tree_next(node)) {
        pred_queue_region(ucs_container_of(node, ucs_rcache_pred_timeq_elem_t,
                                           node))->kept = 1;
    }
    ucs_rcache_pred_timeq_set_all(&pred->rounds.awaited, now);
}

/* Memory has become short, or is not short any more */
static void change(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    int is_short = pred->shortage.state.is_short;

    /* Relaxed: a registration that reads the old value is measured as before */
    ucs_relaxed_store(&pred->shortage.is_short, is_short);
    pred->seat.time = 0; /* The next seat says who does the work */
    if (is_short) {
        reconsider(pred, now);
        pred_spend_begin_anew(&pred->rounds);
    }
}

void pred_shortage_look(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    pred_shortage_t *shortage = &pred->shortage;
    int was_short             = shortage->state.is_short;
    ucs_rcache_pred_time_t read_back;

    if ((pred->ops.waits == NULL) ||
        ((now >= shortage->looked) && (now - shortage->looked < LOOK_INTERVAL))) {
        return;
    }

    pred_lock(pred);
    read_back           = shortage->read_back;
    shortage->read_back = 0;
    if (!was_short) {
        shortage->page_time = 0;
    }
    pred_unlock(pred);
    ucs_rcache_pred_shortage_update(&shortage->state, pred->ops.waits(pred->params.arg),
                                    read_back, pred_elapsed(shortage->looked, now));
    shortage->looked = now;
    pred_spend_set_rate(pred);
    if (shortage->state.is_short != was_short) {
        change(pred, now);
    }
}

ucs_rcache_pred_time_t
pred_shortage_due(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    int is_idle;

    if (pred->ops.waits == NULL) {
        return UCS_RCACHE_PRED_TIME_INF;
    }

    pred_lock(pred);
    is_idle = (pred->stats.bytes_now == 0) && !pred->shortage.state.is_short;
    pred_unlock(pred);
    return is_idle ? UCS_RCACHE_PRED_TIME_INF :
                     ucs_max(now, pred->shortage.looked + LOOK_INTERVAL);
}
