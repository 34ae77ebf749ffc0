/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "scale.h"

#include <tools/base/memory.h>

#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>

/* The longest time between the starts of two ranks of one job, ns: 10 years. If clocks
 * tell a longer time, they are wrong */
#define MAX_DISTANCE (10ul * 365 * 24 * 3600 * 1000000000)


predreg_rank_start_t predreg_rank_start(const ucs_rcache_trace_t *trace)
{
    predreg_rank_start_t start = { .known = 0 };
    uint64_t clock, realtime;

    if (ucs_rcache_trace_get_number(trace, "clock_ns", &clock) &&
        ucs_rcache_trace_get_number(trace, "realtime_ns", &realtime)) {
        start.known = 1;
        start.time  = realtime;
        if (trace->num_events > 0) {
            start.time += trace->events[0].time - clock;
        }
    }

    return start;
}

int predreg_ranks_align(const predreg_rank_start_t *starts, size_t num_ranks,
                        int64_t *offsets)
{
    uint64_t first = UINT64_MAX, last = 0;
    size_t i;

    for (i = 0; i < num_ranks; ++i) {
        if (!starts[i].known) {
            goto err;
        }

        first = ucs_min(first, starts[i].time);
        last  = ucs_max(last, starts[i].time);
    }

    if ((num_ranks > 0) && (last - first > MAX_DISTANCE)) {
        goto err;
    }

    for (i = 0; i < num_ranks; ++i) {
        offsets[i] = starts[i].time - first;
    }
    return 1;

err:
    memset(offsets, 0, num_ranks * sizeof(*offsets));
    return 0;
}

/* Add the numbers of a rank to the sum over ranks */
static void add_numbers(predreg_replay_result_t *sum,
                        const predreg_replay_result_t *more)
{
    unsigned i;

    PREDREG_RESULT_NUMBERS(PREDREG_NUMBER_ADD)
    sum->bound_bytes   += more->bound_bytes;
    sum->bound_regions += more->bound_regions;
    sum->duration  = ucs_max(sum->duration, more->duration);
    for (i = 0; i < UCS_RCACHE_PRED_ERROR_CLASSES; ++i) {
        sum->prediction_errors[i] += more->prediction_errors[i];
    }
}

void predreg_ranks_total(const predreg_replay_result_t *results,
                         const int64_t *offsets, size_t num_ranks,
                         predreg_replay_result_t *total)
{
    int64_t span = 0; /* From the first start of a rank to the last end, ns */
    const predreg_sum_t **sums;
    size_t i;

    sums = predreg_alloc(num_ranks, sizeof(*sums));
    memset(total, 0, sizeof(*total));
    for (i = 0; i < num_ranks; ++i) {
        sums[i]       = &results[i].pinned;
        total->policy = results[i].policy;
        total->budget = results[i].budget;
        add_numbers(total, &results[i]);
        span = ucs_max(span, offsets[i] + (int64_t)results[i].duration);
    }

    predreg_sum_merge(sums, offsets, num_ranks, &total->pinned);
    total->pinned_avg_bytes = predreg_sum_average(&total->pinned, span);
    free(sums);
}
