/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ledger.h"

#include <tools/base/containers.h>

#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>

#define NSEC_PER_SEC 1e9


/*
 * Sums are integers of 128 bits, and become doubles at the end. So they are
 * exact: neither the order of the entries nor rounding has an effect.
 *
 * The ledger keeps no entries, only changes of the curve of registered bytes,
 * at the begin and end of entries. If the array of changes is full, changes of
 * the same time are added up, and the array grows only if more than half of it
 * stays full. So the array has room for at most four times as many changes as
 * there are different times, whatever the number of entries: clairvoyant makes
 * several entries for each use of each segment.
 */

/* Room of the first allocation, in changes */
#define FIRST_ROOM 1024


const char *predreg_cause_names[] = {
    [PREDREG_CAUSE_USE]     = "use",
    [PREDREG_CAUSE_REG]     = "registration",
    [PREDREG_CAUSE_DEREG]   = "deregistration",
    [PREDREG_CAUSE_AHEAD]   = "ahead",
    [PREDREG_CAUSE_KEPT]    = "kept",
    [PREDREG_CAUSE_RELEASE] = "release",
    [PREDREG_CAUSE_WASTED]  = "wasted",
    [PREDREG_CAUSE_LAST]    = NULL
};


void predreg_ledger_cleanup(predreg_ledger_t *ledger)
{
    free(ledger->changes);
}

PREDREG_COMPARE(change_compare, predreg_change_t, time)

/* Sort changes, and add up changes of the same time.
 * @return the number of changes afterwards. */
static size_t changes_combine(predreg_change_t *changes, size_t num_changes)
{
    size_t count = 0;
    size_t i;

    if (num_changes > 0) { /* qsort() must not get the NULL of an empty ledger */
        qsort(changes, num_changes, sizeof(*changes), change_compare);
    }

    for (i = 0; i < num_changes; ++i) {
        if ((count > 0) && (changes[count - 1].time == changes[i].time)) {
            changes[count - 1].bytes += changes[i].bytes;
        } else {
            changes[count++] = changes[i];
        }
    }

    return count;
}

/* Make room for another change: add up changes of the same time. If this leaves the array
 * half full or more, double its size */
static void make_room(predreg_ledger_t *ledger)
{
    ledger->num_changes = changes_combine(ledger->changes,
                                          ledger->num_changes);
    if (ledger->num_changes >= ledger->room / 2) {
        ledger->room    = ucs_max(ledger->room * 2, FIRST_ROOM);
        ledger->changes = predreg_check_memory(
                realloc(ledger->changes,
                        ledger->room * sizeof(*ledger->changes)));
    }
}

static void add_change(predreg_ledger_t *ledger, int64_t time, uint64_t bytes)
{
    if (ledger->num_changes == ledger->room) {
        make_room(ledger);
    }

    ledger->changes[ledger->num_changes++] =
            (predreg_change_t){ time, bytes };
}

void predreg_ledger_hold(predreg_ledger_t *ledger, int64_t begin, int64_t end,
                         uint64_t bytes)
{
    if ((end > begin) && (bytes > 0)) {
        add_change(ledger, begin, bytes);
        add_change(ledger, end, -bytes);
    }
}

void predreg_ledger_attribute(predreg_ledger_t *ledger, uint64_t time,
                              uint64_t bytes, predreg_cause_t cause)
{
    ledger->by_cause[cause] += (unsigned __int128)bytes * time;
}

void predreg_ledger_add(predreg_ledger_t *ledger, int64_t begin, int64_t end,
                        uint64_t bytes, predreg_cause_t cause)
{
    if (end > begin) {
        predreg_ledger_hold(ledger, begin, end, bytes);
        predreg_ledger_attribute(ledger, (uint64_t)end - (uint64_t)begin, bytes,
                                 cause);
    }
}

/* Make a curve of combined changes, without steps of equal height. The steps
 * overwrite the changes, which have the same size. */
static void curve_make(predreg_change_t *changes, size_t num_changes,
                       predreg_sum_t *sum)
{
    predreg_step_t *steps = (predreg_step_t*)changes;
    uint64_t bytes        = 0;
    size_t num_steps      = 0;
    int64_t time;
    size_t i;

    UCS_STATIC_ASSERT(sizeof(*steps) == sizeof(*changes));
    for (i = 0; i < num_changes; ++i) {
        if (changes[i].bytes != 0) {
            time               = changes[i].time;
            bytes             += changes[i].bytes;
            sum->peak_bytes    = ucs_max(sum->peak_bytes, bytes);
            steps[num_steps++] = (predreg_step_t){ .time  = time,
                                                   .bytes = bytes };
        }
    }

    sum->curve     = steps;
    sum->num_steps = num_steps;
}

static void ledger_integrate(const predreg_ledger_t *ledger, predreg_sum_t *sum)
{
    unsigned __int128 total = 0;
    unsigned cause;

    for (cause = 0; cause < PREDREG_CAUSE_LAST; ++cause) {
        sum->by_cause[cause]  = ledger->by_cause[cause] / NSEC_PER_SEC;
        total                += ledger->by_cause[cause];
    }
    sum->byte_seconds = total / NSEC_PER_SEC;
}

void predreg_ledger_sum(predreg_ledger_t *ledger, predreg_sum_t *sum)
{
    memset(sum, 0, sizeof(*sum));
    curve_make(ledger->changes,
               changes_combine(ledger->changes, ledger->num_changes), sum);
    ledger_integrate(ledger, sum);
    *ledger = (predreg_ledger_t){ .changes = NULL };
}

/* Write the steps of a curve as changes. @return the number of changes. */
static size_t changes_of_curve(const predreg_sum_t *sum, int64_t offset,
                               predreg_change_t *changes)
{
    uint64_t bytes = 0;
    size_t i;

    for (i = 0; i < sum->num_steps; ++i) {
        changes[i] = (predreg_change_t){ sum->curve[i].time + offset,
                                 sum->curve[i].bytes - bytes };
        bytes      = sum->curve[i].bytes;
    }

    return sum->num_steps;
}

void predreg_sum_merge(const predreg_sum_t *const *sums, const int64_t *offsets,
                       size_t num_sums, predreg_sum_t *total)
{
    size_t num_changes = 0;
    predreg_change_t *changes;
    unsigned cause;
    size_t i;

    for (i = 0; i < num_sums; ++i) {
        num_changes += sums[i]->num_steps;
    }

    changes = predreg_alloc(num_changes, sizeof(*changes));
    memset(total, 0, sizeof(*total));
    num_changes = 0;
    for (i = 0; i < num_sums; ++i) {
        num_changes         += changes_of_curve(sums[i], offsets[i],
                                                &changes[num_changes]);
        total->byte_seconds += sums[i]->byte_seconds;
        for (cause = 0; cause < PREDREG_CAUSE_LAST; ++cause) {
            total->by_cause[cause] += sums[i]->by_cause[cause];
        }
    }

    curve_make(changes, changes_combine(changes, num_changes), total);
}

double predreg_sum_average(const predreg_sum_t *sum, uint64_t duration)
{
    uint64_t time = duration;

    if ((sum->num_steps > 0) && (sum->curve[0].time < 0)) {
        time -= sum->curve[0].time;
    }

    return (time == 0) ? 0 : (sum->byte_seconds * NSEC_PER_SEC / time);
}

void predreg_sum_cleanup(predreg_sum_t *sum)
{
    free(sum->curve);
}
