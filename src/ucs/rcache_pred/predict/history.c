/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "history.h"

#include <ucs/sys/math.h>

#include <string.h>

/* Fewer intervals than this say little about how much the intervals vary */
#define HISTORY_ENOUGH 4


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

/* Take in a value that was seen. The result rises to a larger value at once and
 * falls slowly, so that it stays near the worst of the recent values */
static void fade(ucs_rcache_pred_time_t *value, ucs_rcache_pred_time_t seen)
{
    *value = ucs_max(seen, *value - (*value / 8));
}

/* Compare a new interval with what had been predicted for it */
static void history_judge(ucs_rcache_pred_history_t *history,
                          ucs_rcache_pred_time_t interval)
{
    ucs_rcache_pred_time_t period = history->period;

    if (period == 0) {
        return;
    }

    if ((interval >= period) &&
        (interval <= period + ucs_rcache_pred_history_grace(history))) {
        history_confirm(history);
    }

    if ((interval < period) ||
        (interval > period + ucs_rcache_pred_history_narrow_grace(history))) {
        history->streak = 0;
    } else if (history->streak < UINT8_MAX) {
        ++history->streak;
    }

    fade(&history->undershoot, (interval < period) ? (period - interval) : 0);
    fade(&history->overshoot, (interval > period) ? (interval - period) : 0);
}

/* Find the shortest, the median and the longest of the recent intervals */
static void history_summarize(ucs_rcache_pred_history_t *history,
                              unsigned count)
{
    ucs_rcache_pred_time_t sorted[UCS_RCACHE_PRED_MAX_HISTORY];
    unsigned i, pos;

    for (i = 0; i < count; ++i) {
        for (pos = i; (pos > 0) && (sorted[pos - 1] > history->intervals[i]);
             --pos) {
            sorted[pos] = sorted[pos - 1];
        }
        sorted[pos] = history->intervals[i];
    }

    history->period  = sorted[0];
    history->typical = sorted[count / 2];
    history->longest = sorted[count - 1];
}

static void add_interval(ucs_rcache_pred_history_t *history,
                         ucs_rcache_pred_time_t interval, unsigned depth)
{
    history_judge(history, interval);
    history->intervals[history->next] = interval;
    history->next                     = (history->next + 1) % depth;
    if (history->count < UINT8_MAX) {
        ++history->count;
    }
    history_summarize(history, ucs_min(history->count, depth));
}

void ucs_rcache_pred_history_add(ucs_rcache_pred_history_t *history,
                                 ucs_rcache_pred_time_t begin,
                                 unsigned depth)
{
    if ((history->last != 0) && (begin > history->last)) {
        add_interval(history, begin - history->last, depth);
    }

    /* Begins of several threads may come out of order by less than a period. If
     * a begin is earlier than the last one by more than that, the clock went
     * back */
    if ((begin > history->last) || (history->last - begin > history->period)) {
        history->last = begin;
    }
}

void ucs_rcache_pred_history_close(ucs_rcache_pred_history_t *history,
                                   ucs_rcache_pred_time_t end, unsigned depth)
{
    if ((history->last != 0) && (end > history->last)) {
        add_interval(history, end - history->last, depth);
    }
    history->last = 0;
}

void ucs_rcache_pred_history_unmet(ucs_rcache_pred_history_t *history)
{
    if (history->confidence > 0) {
        --history->confidence;
    }
}

/* The least lead while few intervals are known. A single interval says nothing
 * about how much intervals vary */
static ucs_rcache_pred_time_t
lead_of_few(const ucs_rcache_pred_history_t *history)
{
    return (history->count == 1) ?
           (history->period / 32) :
           ucs_min(3 * (history->longest - history->period) +
                   (history->period / 64), history->period / 8);
}

ucs_rcache_pred_time_t
ucs_rcache_pred_history_lead(const ucs_rcache_pred_history_t *history)
{
    ucs_rcache_pred_time_t lead;

    lead = ucs_max(history->undershoot + (history->undershoot / 4),
                   (history->typical - history->period) * 3 / 4);
    if (history->count < HISTORY_ENOUGH) {
        lead = ucs_max(lead, lead_of_few(history));
    }
    return ucs_min(lead, history->period / 4);
}

ucs_rcache_pred_time_t
ucs_rcache_pred_history_grace(const ucs_rcache_pred_history_t *history)
{
    ucs_rcache_pred_time_t late;

    late = ucs_max(history->longest - history->period,
                   history->overshoot + (history->overshoot / 4));
    late = ucs_max(late + (history->period / 8),
                   (history->count < HISTORY_ENOUGH) ?
                   (history->period / 2) :
                   ucs_rcache_pred_history_narrow_grace(history));
    return ucs_min(late, history->period);
}

ucs_rcache_pred_time_t
ucs_rcache_pred_history_expiry(const ucs_rcache_pred_history_t *history)
{
    return history->last + history->period +
           ucs_rcache_pred_history_grace(history);
}

unsigned ucs_rcache_pred_error_class(ucs_rcache_pred_time_t predicted,
                                     ucs_rcache_pred_time_t observed)
{
    static const double bounds[UCS_RCACHE_PRED_ERROR_CLASSES - 1] = {
        0.005, 0.01, 0.05, 0.1, 0.25
    };
    ucs_rcache_pred_time_t distance;
    unsigned i;

    distance = (predicted > observed) ? (predicted - observed) :
                                        (observed - predicted);
    for (i = 0; i < UCS_RCACHE_PRED_ERROR_CLASSES - 1; ++i) {
        if ((double)distance / observed <= bounds[i]) {
            break;
        }
    }

    return i;
}

/* Whether the history says when the next begin will be */
static int history_predicts(const ucs_rcache_pred_history_t *history)
{
    return (history->last != 0) && (history->period != 0) &&
           (history->confidence != 0);
}

unsigned
ucs_rcache_pred_history_error_class(const ucs_rcache_pred_history_t *history,
                                    ucs_rcache_pred_time_t begin)
{
    if (!history_predicts(history) || (begin <= history->last)) {
        return UCS_RCACHE_PRED_ERROR_CLASSES;
    }

    return ucs_rcache_pred_error_class(history->period, begin - history->last);
}

ucs_rcache_pred_time_t
ucs_rcache_pred_history_deadline(const ucs_rcache_pred_history_t *history,
                                 ucs_rcache_pred_time_t now)
{
    if (!history_predicts(history) ||
        (history->last > now + history->period) ||
        (ucs_rcache_pred_history_expiry(history) <= now)) {
        return UCS_RCACHE_PRED_TIME_INF;
    }

    return history->last + history->period -
           ucs_rcache_pred_history_lead(history);
}
