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

/* The trend is computed from so many intervals at most, even if more are remembered,
 * since the trend may turn */
#define TREND_INTERVALS 8

/* The program has a new pace after LONGER_ENOUGH intervals in a row that are
 * longer than the period by half or more, and differ from each other by 1 /
 * LONGER_ALIKE at most */
#define LONGER_ENOUGH 3
#define LONGER_ALIKE  32

/* How slowly errors of the two estimates are forgotten, see fade(). Errors of the trend
 * count for longer: where intervals grow and then start small again, the trend is right
 * most of the time, but wrong at each start */
#define SHORTEST_FADES 8

/* The spread is an average: of so many recent intervals once there are as many. One interval
 * that is far off counts for that long */
#define SPREAD_FADES 32
#define TREND_FADES    16

/* The trend is believed if memory would be registered for less time by the trend than by
 * the shortest interval, by more than this part, 1/4 */
#define TREND_BETTER 4

/* Told intervals, which are of other regions, are forgotten if the first interval of the
 * region itself is shorter than the shortest of them by more than this part, 1/4, or
 * longer than the longest by more than this part */
#define TOLD_DIFFERS 4

/* The longest told interval, ns, more than two years; a longer one counts as this one.
 * Nobody expects a use after so long. The sum of two or three of these does not wrap
 * around */
#define LONGEST_TOLD (1ul << 56)


void ucs_rcache_pred_history_init(ucs_rcache_pred_history_t *history)
{
    memset(history, 0, sizeof(*history));
}

/* Take in an error that was seen. *value rises to a larger error at once and falls
 * slowly, by 1 / @a part with each smaller one, so that it stays near the worst of the
 * recent errors */
static void fade(ucs_rcache_pred_time_t *value, ucs_rcache_pred_time_t seen,
                 unsigned part)
{
    *value = ucs_max(seen, *value - (*value / part));
}

/* Compare a new interval with its estimate */
static void estimate_judge(ucs_rcache_pred_estimate_t *estimate,
                           ucs_rcache_pred_time_t interval, unsigned part)
{
    ucs_rcache_pred_time_t expected = estimate->interval;

    fade(&estimate->undershoot,
         (interval < expected) ? (expected - interval) : 0, part);
    fade(&estimate->overshoot,
         (interval > expected) ? (interval - expected) : 0, part);
}

/* Compare a new interval with the middle of those before */
static void spread_judge(ucs_rcache_pred_history_t *history,
                         ucs_rcache_pred_time_t interval)
{
    ucs_rcache_pred_time_t middle = history->by_trend ? history->trend.interval :
                                                        history->typical;
    unsigned shift                = ucs_ilog2(ucs_min(history->count, SPREAD_FADES));

    history->spread += ((ucs_max(interval, middle) - ucs_min(interval, middle)) >>
                        shift) - (history->spread >> shift);
}

/* Compare a new interval with its prediction */
static void history_judge(ucs_rcache_pred_history_t *history,
                          ucs_rcache_pred_time_t interval)
{
    ucs_rcache_pred_time_t period = history->period;

    if ((interval >= period) &&
        (interval <= period + ucs_rcache_pred_history_grace(history))) {
        ucs_rcache_pred_trust_tell(&history->trust,
                                   UCS_RCACHE_PRED_TRUST_HISTORY, 1);
    }

    history->punctual = (interval >= period) &&
                        (interval <= period +
                                     ucs_rcache_pred_history_narrow_grace(history));
}

/* @return the least lead while few intervals are known. A single interval says
 * nothing about how much intervals vary */
static ucs_rcache_pred_time_t
lead_of_few(const ucs_rcache_pred_history_t *history)
{
    ucs_rcache_pred_time_t shortest = history->shortest.interval;

    return (history->count == 1) ?
           (shortest / 32) :
           ucs_min(3 * (history->longest - shortest) +
                   (shortest / 64), shortest / 8);
}

/* @return the lead if the shortest interval is believed: how long before the end of an
 * interval of that length a region has to be ready */
static ucs_rcache_pred_time_t
shortest_lead(const ucs_rcache_pred_history_t *history)
{
    const ucs_rcache_pred_estimate_t *shortest = &history->shortest;
    ucs_rcache_pred_time_t lead;

    lead = ucs_max(shortest->undershoot + (shortest->undershoot / 4),
                   (history->typical - shortest->interval) * 3 / 4);
    return (history->count < HISTORY_ENOUGH) ?
           ucs_max(lead, lead_of_few(history)) : lead;
}

/* @return the lead if the trend is believed: twice the worst recent undershoot. Intervals
 * are as often shorter as longer than the trend, and a use is a miss if its interval is
 * shorter than the trend by more than the lead */
static ucs_rcache_pred_time_t
trend_lead(const ucs_rcache_pred_history_t *history)
{
    return 2 * history->trend.undershoot;
}

ucs_rcache_pred_time_t
ucs_rcache_pred_history_interval(const ucs_rcache_pred_history_t *history,
                                 unsigned back, unsigned depth)
{
    unsigned place = history->next + depth - 1 - back; /* Less than 2 depth */

    return history->intervals[(place < depth) ? place : (place - depth)];
}

/* Leave only the last intervals, so many of them, in the order by length. @return how many
 * are left */
static unsigned order_keep(ucs_rcache_pred_history_t *history, unsigned keep,
                           unsigned depth)
{
    unsigned count = ucs_min(history->count, depth);
    unsigned left  = 0;
    unsigned i, place, age;

    for (i = 0; i < count; ++i) {
        place                = history->order[i];
        age                  = history->next + depth - 1 - place;
        history->order[left] = place;
        left                += ((age < depth) ? age : (age - depth)) < keep;
    }
    return left;
}

/* Put an interval into the ring and into the order, and find the shortest, the median and
 * the longest of the recent intervals. @return how many recent ones there are */
static unsigned history_insert(ucs_rcache_pred_history_t *history,
                               ucs_rcache_pred_time_t interval, unsigned depth)
{
    ucs_rcache_pred_time_t *intervals = history->intervals;
    uint8_t *order                    = history->order;
    unsigned count                    = order_keep(history, depth - 1, depth);
    unsigned pos;

    for (pos = count; (pos > 0) && (intervals[order[pos - 1]] > interval); --pos) {
        order[pos] = order[pos - 1];
    }
    order[pos]               = history->next;
    intervals[history->next] = interval;
    history->next            = (history->next + 1 < depth) ? (history->next + 1) : 0;

    history->shortest.interval = intervals[order[0]];
    history->typical           = intervals[order[(count + 1) / 2]];
    history->longest           = intervals[order[count]];
    return count + 1;
}

/* Estimate the next interval by the trend of the last ones. */
static void history_find_trend(ucs_rcache_pred_history_t *history,
                               unsigned count, unsigned depth)
{
    unsigned steps = ucs_min(count, TREND_INTERVALS) - 1;
    int64_t last   = ucs_rcache_pred_history_interval(history, 0, depth);
    int64_t first  = ucs_rcache_pred_history_interval(history, steps, depth);
    int64_t step   = (last - first) / (int64_t)ucs_max(steps, 1u);

    history->trend.interval = last + ucs_max(ucs_min(step, last / 2), -last / 2);
}

/* Choose the estimate to believe: the one by which memory is registered for less time, if
 * it is registered so early that the earliest recent use would be in time, and until the
 * latest one. The trend only if it is clearly better than the shortest interval, since the
 * trend follows each jitter, and the shortest interval does not */
static void history_choose(ucs_rcache_pred_history_t *history)
{
    ucs_rcache_pred_time_t span = shortest_lead(history) +
                                  history->shortest.overshoot;

    history->by_trend = (history->count >= HISTORY_ENOUGH) &&
                        (trend_lead(history) + history->trend.overshoot <
                         span - (span / TREND_BETTER));
    history->period   = history->by_trend ? history->trend.interval :
                                            history->shortest.interval;
}

/* @return whether an interval is much longer than the period, and, if the interval before
 * was much longer too, about as long as that one */
static int is_longer(const ucs_rcache_pred_history_t *history,
                     ucs_rcache_pred_time_t interval, unsigned depth)
{
    ucs_rcache_pred_time_t last = ucs_rcache_pred_history_interval(history, 0, depth);
    ucs_rcache_pred_time_t distance;

    distance = ucs_max(interval, last) - ucs_min(interval, last);
    return (interval - ucs_min(interval, history->period) >=
            ucs_max(history->period / 2, 1ul)) &&
           ((history->longer == 0) || (distance <= last / LONGER_ALIKE));
}

/* If the last intervals show a new pace of the program, forget the earlier
 * intervals: such intervals would not come again. */
static void history_change_pace(ucs_rcache_pred_history_t *history,
                                ucs_rcache_pred_time_t interval, unsigned depth)
{
    if (!is_longer(history, interval, depth)) {
        history->longer = 0;
    } else if (++history->longer == LONGER_ENOUGH) {
        history->longer             = 0;
        order_keep(history, LONGER_ENOUGH - 1, depth);
        history->count              = LONGER_ENOUGH - 1;
        history->told               = 0;
        history->shortest.overshoot = 0;
        history->trend.overshoot    = 0;
    }
}

static void add_interval(ucs_rcache_pred_history_t *history,
                         ucs_rcache_pred_time_t interval, unsigned depth)
{
    unsigned count;

    if (history->count > 0) {
        history_judge(history, interval);
        spread_judge(history, interval);
        estimate_judge(&history->shortest, interval, SHORTEST_FADES);
        estimate_judge(&history->trend, interval, TREND_FADES);
        history_change_pace(history, interval, depth);
    }

    count = history_insert(history, interval, depth);
    if (history->count < UINT8_MAX) {
        ++history->count;
    }
    history_find_trend(history, count, depth);
    history_choose(history);
}

/* If all intervals so far were told, the first one of the region itself shows whether
 * they are of any use. If not, forget them: otherwise a told interval that is too short
 * would be believed until it is no longer among the remembered ones */
static void judge_told(ucs_rcache_pred_history_t *history,
                       ucs_rcache_pred_time_t interval)
{
    ucs_rcache_pred_time_t last = history->last;

    if ((history->told == 0) || (history->told != history->count)) {
        return;
    }

    if ((interval < history->shortest.interval -
                    (history->shortest.interval / TOLD_DIFFERS)) ||
        (interval > history->longest + (history->longest / TOLD_DIFFERS))) {
        ucs_rcache_pred_history_init(history);
        history->last = last;
    }
}

/* Add the interval from the last begin to a time, if there was an earlier begin */
static void add_interval_to(ucs_rcache_pred_history_t *history,
                            ucs_rcache_pred_time_t end, unsigned depth)
{
    if ((history->last != 0) && (end > history->last)) {
        judge_told(history, end - history->last);
        add_interval(history, end - history->last, depth);
    }
}

void ucs_rcache_pred_history_tell(ucs_rcache_pred_history_t *history,
                                  ucs_rcache_pred_time_t interval,
                                  unsigned depth)
{
    add_interval(history, ucs_min(interval, LONGEST_TOLD), depth);
    history->told = history->count;
}

void ucs_rcache_pred_history_add(ucs_rcache_pred_history_t *history,
                                 ucs_rcache_pred_time_t begin,
                                 unsigned depth)
{
    add_interval_to(history, begin, depth);

    /* The begins of several threads may come out of order by less than a
     * period. If a begin is earlier than the last one by more than a period,
     * the clock went back */
    if ((begin > history->last) || (history->last - begin > history->period)) {
        history->last = begin;
    }
}

void ucs_rcache_pred_history_close(ucs_rcache_pred_history_t *history,
                                   ucs_rcache_pred_time_t end, unsigned depth)
{
    add_interval_to(history, end, depth);
    history->last = 0;
}

ucs_rcache_pred_time_t
ucs_rcache_pred_history_margin(const ucs_rcache_pred_history_t *history)
{
    return history->by_trend ? trend_lead(history) : shortest_lead(history);
}

ucs_rcache_pred_time_t
ucs_rcache_pred_history_lead(const ucs_rcache_pred_history_t *history)
{
    return ucs_min(ucs_rcache_pred_history_margin(history), history->period / 4);
}

/* @return by how much a begin may come later than predicted, by the recent
 * errors */
static ucs_rcache_pred_time_t
expected_delay(const ucs_rcache_pred_history_t *history)
{
    ucs_rcache_pred_time_t overshoot = history->by_trend ?
                                       history->trend.overshoot :
                                       history->shortest.overshoot;

    overshoot += overshoot / 4;
    return history->by_trend ?
           overshoot : ucs_max(history->longest - history->period, overshoot);
}

ucs_rcache_pred_time_t
ucs_rcache_pred_history_grace(const ucs_rcache_pred_history_t *history)
{
    ucs_rcache_pred_time_t late;

    /* Told intervals do not count as seen ones here. If they did, the grace of this
     * history could be shorter than that of the region's recurrences, to whose histories
     * nothing is told. Then, after the use that this history predicts has not come, the
     * history of a recurrence would still predict the same use, and the helper would
     * register the region again */
    late = ucs_max(expected_delay(history) + (history->period / 8),
                   (history->count - history->told < HISTORY_ENOUGH) ?
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

ucs_rcache_pred_time_t
ucs_rcache_pred_history_deadline(const ucs_rcache_pred_history_t *history,
                                 ucs_rcache_pred_time_t now)
{
    if ((history->last == 0) || (history->period == 0) ||
        ucs_rcache_pred_trust_is_doubted(history->trust,
                                         UCS_RCACHE_PRED_TRUST_HISTORY) ||
        (history->last > now + history->period) ||
        (ucs_rcache_pred_history_expiry(history) <= now)) {
        return UCS_RCACHE_PRED_TIME_INF;
    }

    return history->last + history->period -
           ucs_rcache_pred_history_lead(history);
}
