/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "decide.h"
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

/* Each look forgets this part, 1/8, of what registrations have waited, and of their pages. So
 * many pages without a wait count besides, so that nothing is expected to wait for long
 * after the last registration */
#define FADE       8
#define PAGES_MORE 256


/* Begin or end to give memory up beyond the budget, after state.is_short has changed */
static void change(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    int is_short = pred->shortage.state.is_short;

    /* Relaxed: no other data depends on the value. A thread that still reads the old value
     * counts or does not count waits of one more registration */
    ucs_relaxed_store(&pred->shortage.is_short, is_short);
    pred->seat.time = 0; /* The next seat says who does the work */
    if (is_short) {
        pred_stop_awaiting(pred, now);
        pred_spend_begin_anew(&pred->rounds);
    }
}

/* @return how long this process has waited since the last look for memory that it was about
 * to register, ns */
static ucs_rcache_pred_time_t take_read_back(ucs_rcache_pred_t *pred)
{
    pred_shortage_t *shortage = &pred->shortage;
    ucs_rcache_pred_time_t read_back;

    pred_lock(pred);
    read_back            = shortage->read_back;
    shortage->read_back  = 0;
    shortage->waited    -= shortage->waited / FADE;
    shortage->pages     -= shortage->pages / FADE;
    shortage->page_time  = shortage->state.is_short ?
                           (shortage->waited / (shortage->pages + PAGES_MORE)) : 0;
    pred_unlock(pred);
    return read_back;
}

void pred_shortage_look(ucs_rcache_pred_t *pred, ucs_rcache_pred_time_t now)
{
    pred_shortage_t *shortage = &pred->shortage;
    int was_short             = shortage->state.is_short;
    ucs_rcache_pred_time_t read_back;
    unsigned procs;
    double waits;

    if ((pred->ops.waits == NULL) || (pred->params.budget == 0) ||
        ((now >= shortage->looked) && (now - shortage->looked < LOOK_INTERVAL))) {
        return;
    }

    read_back = take_read_back(pred);
    waits     = pred->ops.waits(pred->params.arg, &procs);
    ucs_rcache_pred_shortage_update(&shortage->state, waits, procs, read_back,
                                    pred_elapsed(shortage->looked, now));
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

    if ((pred->ops.waits == NULL) || (pred->params.budget == 0)) {
        return UCS_RCACHE_PRED_TIME_INF;
    }

    pred_lock(pred);
    is_idle = (pred->stats.bytes_now == 0) && !pred->shortage.state.is_short;
    pred_unlock(pred);
    return is_idle ? UCS_RCACHE_PRED_TIME_INF :
                     ucs_max(now, pred->shortage.looked + LOOK_INTERVAL);
}
