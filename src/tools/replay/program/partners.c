/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "partners.h"

#include <tools/base/containers.h>

#include <ucs/sys/math.h>

#include <math.h>
#include <stdlib.h>

/* By how much the ends of the two uses of a message may differ, ns. The sender's ends when
 * it hears that the receiver has the data. Between two ranks on a node nine tenths of the
 * uses were up to 125 us apart, and nearly all up to 270 (8 programs, Open MPI 4.1, UCX
 * 1.13) */
#define END_TOLERANCE 300000

/* How many uses are looked at on either side for the other use of a message. A rank does not
 * end more in END_TOLERANCE; without a limit, a trace in which all uses end at one time would
 * take the square of their number */
#define MOST_NEAR 1000

/* If the receiver's use begins this soon after the sender's memory is registered, ns, the
 * receiver has waited for the sender: 92 to 99 of 100 receives that were not there before,
 * in these programs. Later, it has done something else meanwhile */
#define REQUEST_TIME 60000

/* By how much clocks may differ in their rates: measured rates are exact to some 1e-4 */
#define MAX_DRIFT 1e-2

/* The most uses that are kept of all ranks together, and the least of a rank of a large
 * job. A use takes 48 bytes, and its waits 48 */
#define ALL_USES   1000000ul
#define LEAST_USES 1000ul


/* A use that has ended. Times are ns since 1970 */
typedef struct {
    uint64_t length; /* Bytes */
    uint64_t end;
    uint64_t begin;
    uint64_t ready;  /* When its memory was registered */
    uint64_t rank;
    uint64_t comm;   /* ucs_rcache_pred_comm_t */
} message_t;

typedef struct {
    uint64_t rank;
    uint64_t begin;
    uint64_t end;
} interval_t;

typedef struct {
    interval_t *list;
    size_t     num;
} intervals_t;

/* From the clock of a trace to the time of day: at the time t of the trace it is
 * real + (t - clock) * (1 + drift), ns since 1970 */
typedef struct {
    uint64_t clock;
    uint64_t real;
    double   drift;
} clock_pair_t;

struct predreg_partners {
    message_t   *messages;
    size_t      num_messages;
    intervals_t waits;  /* For own registrations and deregistrations */
    intervals_t theirs; /* In which partners of a rank waited for their registrations */
    intervals_t shared; /* The parts of theirs in which the rank has waited, too */
    uint64_t    until;  /* The earliest end of what is kept of a trace that is not kept
                           whole */
    double      *parts; /* Of each rank */
    size_t      num_ranks;
};


PREDREG_COMPARE(message_compare, message_t, length, end, rank, begin)
PREDREG_COMPARE(interval_compare, interval_t, rank, begin, end)

predreg_partners_t *predreg_partners_create(void)
{
    predreg_partners_t *partners = predreg_alloc(1, sizeof(*partners));

    partners->until = UINT64_MAX;
    return partners;
}

void predreg_partners_destroy(predreg_partners_t *partners)
{
    free(partners->messages);
    free(partners->waits.list);
    free(partners->theirs.list);
    free(partners->shared.list);
    free(partners->parts);
    free(partners);
}

static int find_clock(const ucs_rcache_trace_t *trace, clock_pair_t *pair)
{
    uint64_t clock, real;

    if (!ucs_rcache_trace_get_number(trace, "clock_ns", &pair->clock) ||
        !ucs_rcache_trace_get_number(trace, "realtime_ns", &pair->real)) {
        return 0;
    }

    if (ucs_rcache_trace_get_number(trace, "clock_end_ns", &clock) &&
        ucs_rcache_trace_get_number(trace, "realtime_end_ns", &real) &&
        (clock > pair->clock)) {
        pair->drift = ((double)(int64_t)(real - pair->real) / (clock - pair->clock)) - 1;
    }
    if (fabs(pair->drift) > MAX_DRIFT) {
        /* Clocks do not differ by so much: somebody has set the time of day during the
         * run, and the two pairs do not tell the drift */
        pair->drift = 0;
    }
    return 1;
}

static uint64_t real_time(const clock_pair_t *pair, uint64_t time)
{
    int64_t elapsed = time - pair->clock;

    return pair->real + elapsed + (int64_t)(elapsed * pair->drift);
}

static void add_interval(intervals_t *intervals, uint64_t rank, uint64_t begin,
                         uint64_t end)
{
    if (begin < end) {
        *predreg_add(intervals->list, intervals->num) = (interval_t){rank, begin, end};
    }
}

/* Note the first uses of a rank. A use whose end is not known is left out */
static void add_uses(predreg_partners_t *partners, const predreg_timeline_t *timeline,
                     const clock_pair_t *pair, size_t num)
{
    const predreg_recorded_t *recorded = timeline->recorded;
    size_t i;

    for (i = 0; i < num; ++i) {
        if (recorded[i].end != UINT64_MAX) {
            *predreg_add(partners->messages, partners->num_messages) = (message_t){
                .length = timeline->uses[i].length,
                .end    = real_time(pair, recorded[i].end),
                .begin  = real_time(pair, recorded[i].begin),
                .ready  = real_time(pair, recorded[i].ready),
                .rank   = partners->num_ranks,
                .comm   = timeline->uses[i].context.caller >> 56
            };
        }
    }
}

/* Note the waits of a rank that begin until a time of its trace */
static void add_waits(predreg_partners_t *partners, const ucs_rcache_trace_t *trace,
                      const clock_pair_t *pair, uint64_t until)
{
    const ucs_rcache_pred_event_t *event;

    predreg_for_each(event, trace->events, trace->num_events) {
        if ((event->time <= until) && ((event->type == UCS_RCACHE_PRED_EVENT_USE_BEGIN) ||
                                       (event->type == UCS_RCACHE_PRED_EVENT_USE_END))) {
            add_interval(&partners->waits, partners->num_ranks, real_time(pair, event->time),
                         real_time(pair, event->time + event->duration));
        }
    }
}

void predreg_partners_add(predreg_partners_t *partners, const ucs_rcache_trace_t *trace,
                          const predreg_timeline_t *timeline)
{
    uint64_t size     = 1;
    uint64_t until    = UINT64_MAX;
    clock_pair_t pair = {};
    size_t most, num;

    ucs_rcache_trace_get_number(trace, "size", &size);
    /* A launcher may not tell the size, or tell a wrong one */
    most = ucs_min(ALL_USES / ucs_max(size, 1ul),
                   ALL_USES - ucs_min(partners->num_messages, ALL_USES));
    num  = ucs_min(timeline->num_uses, ucs_max(most, LEAST_USES));
    if (find_clock(trace, &pair)) {
        if (num < timeline->num_uses) {
            until           = timeline->recorded[num].begin;
            partners->until = ucs_min(partners->until, real_time(&pair, until));
        }
        add_uses(partners, timeline, &pair, num);
        add_waits(partners, trace, &pair, until);
    }
    predreg_add(partners->parts, partners->num_ranks);
}

/* @return whether two uses may be the send and the receive of one message: they belong to
 *         two ranks, overlap, and are not known to be two sends or two receives. */
static int is_partner(const message_t *message, const message_t *other)
{
    return (other->rank != message->rank) && (other->begin < message->end) &&
           (message->begin < other->end) &&
           ((other->comm != message->comm) || (message->comm == 0));
}

/* Find the use of another rank that has the same length and ends closest to the end of a
 * message. Messages are sorted by length and end. @return NULL if no use is near. */
static const message_t *
find_partner(const predreg_partners_t *partners, const message_t *message)
{
    const message_t *best = NULL;
    uint64_t closest      = END_TOLERANCE;
    const message_t *other;
    uint64_t distance;
    size_t i, index;
    int step;

    for (step = -1; step <= 1; step += 2) {
        for (i = 1; i <= MOST_NEAR; ++i) {
            index = (message - partners->messages) + (i * step);
            if (index >= partners->num_messages) {
                break; /* Also before the first one, since the index wraps around */
            }

            other    = &partners->messages[index];
            distance = labs((int64_t)(other->end - message->end));
            if ((other->length != message->length) || (distance >= closest)) {
                break;
            }
            if (is_partner(message, other)) {
                best    = other;
                closest = distance;
            }
        }
    }
    return best;
}

/* Note when the partner in a message has waited for a registration, and when the rank has
 * waited for that */
static void compare_message(predreg_partners_t *partners, const message_t *message)
{
    const message_t *partner = find_partner(partners, message);
    uint64_t begin;

    if (partner == NULL) {
        return;
    }

    begin = ((message->begin >= partner->ready) &&
             (message->begin - partner->ready < REQUEST_TIME)) ?
            partner->begin : ucs_max(partner->begin, message->ready);
    add_interval(&partners->theirs, message->rank, partner->begin, partner->ready);
    add_interval(&partners->shared, message->rank, begin,
                 ucs_min(partner->ready, message->end));
}

/* @return the next intervals of a rank of a sorted list, of which the first ones were
 *         taken. */
static intervals_t take_rank(intervals_t *left, uint64_t rank)
{
    intervals_t taken = {left->list, 0};

    for (; (left->num > 0) && (left->list->rank == rank); --left->num) {
        ++left->list;
        ++taken.num;
    }
    return taken;
}

/* @return for how long time is in an interval of a list and not in one of holes, ns. Both
 *         are sorted by begin. */
static uint64_t length_outside(const intervals_t *intervals, const intervals_t *holes)
{
    const interval_t *hole = holes->list, *end = holes->list + holes->num;
    uint64_t sum = 0, now = 0;
    const interval_t *interval;
    uint64_t stop;

    predreg_for_each(interval, intervals->list, intervals->num) {
        now = ucs_max(now, interval->begin);
        while (now < interval->end) {
            for (; (hole < end) && (hole->end <= now); ++hole) {
            }
            stop = (hole < end) ? ucs_min(hole->begin, interval->end) : interval->end;
            sum += (stop > now) ? (stop - now) : 0;
            now  = (stop < interval->end) ? hole->end : interval->end;
        }
    }
    return sum;
}

/* @return the sum of the lengths, ns. Waits of several threads at a time count for each, as in
 * a replay, where a program has one thread. */
static uint64_t sum_lengths(const intervals_t *intervals)
{
    uint64_t sum = 0;
    const interval_t *interval;

    predreg_for_each(interval, intervals->list, intervals->num) {
        sum += interval->end - interval->begin;
    }
    return sum;
}

/* Leave out the uses and waits that end after the kept part of some rank has ended: nothing is
 * known of what that rank did meanwhile */
static void cut_off(predreg_partners_t *partners)
{
    size_t i, left = 0;

    for (i = 0; i < partners->num_messages; ++i) {
        if (partners->messages[i].end <= partners->until) {
            partners->messages[left++] = partners->messages[i];
        }
    }
    partners->num_messages = left;

    for (i = 0, left = 0; i < partners->waits.num; ++i) {
        if (partners->waits.list[i].end <= partners->until) {
            partners->waits.list[left++] = partners->waits.list[i];
        }
    }
    partners->waits.num = left;
}

static void sort_intervals(intervals_t *intervals)
{
    if (intervals->num > 0) { /* qsort() must not get the NULL of an empty list */
        qsort(intervals->list, intervals->num, sizeof(*intervals->list), interval_compare);
    }
}

void predreg_partners_compare(predreg_partners_t *partners)
{
    static const intervals_t none = {};
    intervals_t own_left, theirs_left, shared_left, own, theirs, shared;
    uint64_t longer;
    size_t i;

    cut_off(partners);
    if (partners->num_messages == 0) {
        return;
    }

    qsort(partners->messages, partners->num_messages, sizeof(*partners->messages),
          message_compare);
    for (i = 0; i < partners->num_messages; ++i) {
        compare_message(partners, &partners->messages[i]);
    }

    sort_intervals(&partners->waits);
    sort_intervals(&partners->theirs);
    sort_intervals(&partners->shared);
    own_left    = partners->waits;
    theirs_left = partners->theirs;
    shared_left = partners->shared;
    for (i = 0; i < partners->num_ranks; ++i) {
        own    = take_rank(&own_left, i);
        theirs = take_rank(&theirs_left, i);
        shared = take_rank(&shared_left, i);
        longer = ucs_max(sum_lengths(&own), length_outside(&theirs, &none));
        partners->parts[i] = (longer == 0) ? 0 :
                             ((double)length_outside(&shared, &own) / longer);
    }
}

double predreg_partners_part(const predreg_partners_t *partners, size_t rank)
{
    return partners->parts[rank];
}
