/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "history.h"

#include <ucs/sys/math.h>

#include <string.h>


void ucs_rcache_pred_history_init(ucs_rcache_pred_history_t *history)
{
    memset(history, 0, sizeof(*history));
    history->confidence = UCS_RCACHE_PRED_CONFIDENCE_START;
}

static void history_confirm(ucs_rcache_pred_history_t *history)
{
    if (history->confidence < UCS_RCACHE_PRED_CONFIDENCE_MAX) {
        ++history->confidence;
    }
}

/* Compare a new interval with what had been predicted for it */
static void history_judge(ucs_rcache_pred_history_t *history,
                          ucs_rcache_pred_time_t interval)
{
    ucs_rcache_pred_time_t under = 0;

    if (history->period == 0) {
        return;
    }

    if (interval < history->period) {
        under = history->period - interval;
    } else if (interval <= history->period +
                           ucs_rcache_pred_history_grace(history)) {
        history_confirm(history);
    }

    /* Rises at once, falls slowly: being late costs more than being early */
    history->undershoot = ucs_max(under, history->undershoot -
                                         (history->undershoot / 8));
}

void ucs_rcache_pred_history_record(ucs_rcache_pred_history_t *history,
                                    ucs_rcache_pred_time_t begin,
                                    unsigned depth)
{
    ucs_rcache_pred_time_t interval;
    unsigned i;

    if ((history->last == 0) || (begin <= history->last)) {
        history->last = ucs_max(history->last, begin);
        return;
    }

    interval      = begin - history->last;
    history->last = begin;
    history_judge(history, interval);

    history->intervals[history->count++ % depth] = interval;
    history->period  = interval;
    history->longest = interval;
    for (i = 0; i < ucs_min(history->count, depth); ++i) {
        history->period  = ucs_min(history->period, history->intervals[i]);
        history->longest = ucs_max(history->longest, history->intervals[i]);
    }
}

void ucs_rcache_pred_history_unmet(ucs_rcache_pred_history_t *history)
{
    if (history->confidence > 0) {
        --history->confidence;
    }
}

ucs_rcache_pred_time_t
ucs_rcache_pred_history_lead(const ucs_rcache_pred_history_t *history)
{
    ucs_rcache_pred_time_t lead;

    /* A margin of a quarter above what was seen: the worst is yet to come */
    lead = history->undershoot + (history->undershoot / 4);
    if (history->count < 3) {
        lead = ucs_max(lead, history->period / 16);
    }
    return ucs_min(lead, history->period / 4);
}

ucs_rcache_pred_time_t
ucs_rcache_pred_history_grace(const ucs_rcache_pred_history_t *history)
{
    return ucs_min(history->longest - history->period + (history->period / 8),
                   history->period / 2);
}

ucs_rcache_pred_time_t
ucs_rcache_pred_history_expiry(const ucs_rcache_pred_history_t *history)
{
    return history->last + history->period +
           ucs_rcache_pred_history_grace(history);
}

ucs_rcache_pred_time_t
ucs_rcache_pred_history_deadline(const ucs_rcache_pred_history_t *history,
                                 ucs_rcache_pred_time_t now)
{
    if ((history->period == 0) || (history->confidence == 0) ||
        (ucs_rcache_pred_history_expiry(history) <= now)) {
        return UCS_RCACHE_PRED_TIME_INF;
    }

    return history->last + history->period -
           ucs_rcache_pred_history_lead(history);
}
