/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ledger.h"

#include <ucs/datastruct/khash.h>
#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>

#define NSEC_PER_SEC 1e9


/*
 * Sums are kept as integers of 128 bits, and converted at the end. So they are
 * exact, and depend neither on the order of the entries nor on rounding.
 *
 * Of the entries themselves nothing is kept: the curve of registered bytes
 * changes at their begin and end, and changes at one time are added up. So the
 * ledger takes as much memory as there are different times, however many
 * entries there are: clairvoyant makes some for each use of each segment.
 */

/* By how much the curve rises at a time, modulo 2^64; a fall is negative */
KHASH_MAP_INIT_INT64(changes, uint64_t)

struct predreg_ledger {
    khash_t(changes)  changes;
    unsigned __int128 by_cause[PREDREG_CAUSE_LAST]; /* Bytes times ns */
    ucs_status_t      status; /* UCS_ERR_NO_MEMORY if there was no memory for an
                                 entry */
};


/* A change of the curve of registered bytes */
typedef struct change {
    int64_t  time;
    uint64_t bytes; /* By how much it rises, as above */
} change_t;


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


ucs_status_t predreg_ledger_create(predreg_ledger_t **ledger_p)
{
    predreg_ledger_t *ledger = calloc(1, sizeof(*ledger));

    if (ledger == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    ledger->status = UCS_OK;
    *ledger_p      = ledger;
    return UCS_OK;
}

void predreg_ledger_destroy(predreg_ledger_t *ledger)
{
    kh_destroy_inplace(changes, &ledger->changes);
    free(ledger);
}

static void add_change(predreg_ledger_t *ledger, int64_t time, uint64_t bytes)
{
    khiter_t iter;
    int ret;

    iter = kh_put(changes, &ledger->changes, (uint64_t)time, &ret);
    if (ret < 0) {
        ledger->status = UCS_ERR_NO_MEMORY;
        return;
    }

    if (ret != 0) {
        kh_val(&ledger->changes, iter) = 0; /* No change at this time yet */
    }
    kh_val(&ledger->changes, iter) += bytes;
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

static int change_compare(const void *a, const void *b)
{
    const change_t *first = a, *second = b;

    return (first->time > second->time) - (first->time < second->time);
}

/*
 * Sort the changes and make a curve of them, which has each time only once, and
 * no step that changes nothing. The steps overwrite the changes, since they
 * take no more room.
 */
static void curve_make(change_t *changes, size_t num_changes,
                       predreg_sum_t *sum)
{
    predreg_step_t *steps = (predreg_step_t*)changes;
    uint64_t bytes        = 0;
    size_t num_steps      = 0;
    size_t i              = 0;
    int64_t time;

    UCS_STATIC_ASSERT(sizeof(*steps) == sizeof(*changes));
    qsort(changes, num_changes, sizeof(*changes), change_compare);
    while (i < num_changes) {
        time = changes[i].time;
        do {
            bytes += changes[i++].bytes;
        } while ((i < num_changes) && (changes[i].time == time));

        if (bytes != ((num_steps == 0) ? 0 : steps[num_steps - 1].bytes)) {
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

ucs_status_t predreg_ledger_sum(predreg_ledger_t *ledger, predreg_sum_t *sum)
{
    size_t num_changes = 0;
    change_t *changes;
    uint64_t time, bytes;

    if (ledger->status != UCS_OK) {
        return ledger->status;
    }

    changes = malloc(ucs_max(kh_size(&ledger->changes), 1u) *
                     sizeof(*changes));
    if (changes == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    kh_foreach(&ledger->changes, time, bytes, {
        changes[num_changes].time  = time;
        changes[num_changes].bytes = bytes;
        ++num_changes;
    });

    memset(sum, 0, sizeof(*sum));
    curve_make(changes, num_changes, sum);
    ledger_integrate(ledger, sum);
    return UCS_OK;
}

/* Write the steps of a curve as changes. @return the number of changes. */
static size_t changes_of_curve(const predreg_sum_t *sum, int64_t offset,
                               change_t *changes)
{
    uint64_t bytes = 0;
    size_t i;

    for (i = 0; i < sum->num_steps; ++i) {
        changes[i] = (change_t){ sum->curve[i].time + offset,
                                 sum->curve[i].bytes - bytes };
        bytes      = sum->curve[i].bytes;
    }

    return sum->num_steps;
}

ucs_status_t predreg_sum_merge(const predreg_sum_t *const *sums,
                               const int64_t *offsets, size_t num_sums,
                               predreg_sum_t *total)
{
    size_t num_changes = 0;
    change_t *changes;
    unsigned cause;
    size_t i;

    for (i = 0; i < num_sums; ++i) {
        num_changes += sums[i]->num_steps;
    }

    changes = malloc(ucs_max(num_changes, 1ul) * sizeof(*changes));
    if (changes == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

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

    curve_make(changes, num_changes, total);
    return UCS_OK;
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
