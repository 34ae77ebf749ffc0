/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "gains.h"

#include <tools/base/containers.h>
#include <tools/base/fields.h>

#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>


/* The buffers of a rank so far */
typedef struct rank {
    const ucs_reuse_costs_t *costs; /* NULL: not known */
    uint32_t                thresholds[UCS_REUSE_NUM_CLASSES];
    uint64_t                buffers;
    uint64_t                sends;  /* Sends of all buffers of the rank */
    uint64_t                most;
} rank_t;


const char *const predreg_eager_advice_names[] = {
    [PREDREG_EAGER_UNKNOWN] = "unknown",
    [PREDREG_EAGER_NEVER]   = "never",
    [PREDREG_EAGER_LOSES]   = "loses",
    [PREDREG_EAGER_LITTLE]  = "little",
    [PREDREG_EAGER_YES]     = "yes"
};

static const char *const gain_advice_names[] = {
    [PREDREG_GAIN_NONE]     = "none",
    [PREDREG_GAIN_RECORDED] = "recorded",
    [PREDREG_GAIN_UNUSED]   = "unused",
    [PREDREG_GAIN_LOSES]    = "loses",
    [PREDREG_GAIN_LITTLE]   = "little",
    [PREDREG_GAIN_MEMORY]   = "memory",
    [PREDREG_GAIN_YES]      = "yes"
};


PREDREG_COMPARE(compare_sends, ucs_reuse_sends_t, address, length)

/* @return the length with the most sends; if several lengths have as many, the longest. */
static uint64_t most_used_length(const ucs_rcache_trace_t *trace)
{
    uint64_t counts[UCS_REUSE_NUM_CLASSES]  = {};
    uint64_t lengths[UCS_REUSE_NUM_CLASSES] = {};
    const ucs_reuse_sends_t *sends;
    unsigned i, best = 0;

    predreg_for_each(sends, trace->sends, trace->num_sends) {
        i          = ucs_reuse_class(sends->length);
        counts[i] += sends->count;
        lengths[i] = ucs_max(lengths[i], sends->length);
    }

    for (i = 1; i < UCS_REUSE_NUM_CLASSES; ++i) {
        best = (counts[i] >= counts[best]) ? i : best;
    }

    return lengths[best];
}

/* @return how long a process was recorded, ns; 0: its trace does not tell. */
static uint64_t recorded_time(const ucs_rcache_trace_t *trace)
{
    uint64_t from, to;

    return (ucs_rcache_trace_get_number(trace, "clock_ns", &from) &&
            ucs_rcache_trace_get_number(trace, "clock_end_ns", &to) && (to > from)) ?
           (to - from) : 0;
}

/* Add a buffer, whose sends are counted by classes of length */
static void add_buffer(predreg_sends_t *sends, rank_t *rank,
                       const ucs_reuse_sends_t *classes, unsigned num)
{
    uint64_t count = 0;
    ucs_reuse_gain_t gain;
    unsigned i;

    for (i = 0; i < num; ++i) {
        count += classes[i].count;
    }

    ++rank->buffers;
    rank->sends += count;
    rank->most   = ucs_max(rank->most, count);
    if (rank->costs != NULL) {
        ucs_reuse_gain_find(rank->costs, rank->thresholds, classes, num, &gain);
        ucs_reuse_gain_add(&sends->gain, &gain);
    }
}

/* Add all buffers of a rank. @param [in] sorted  Counts of sends, sorted by the address
 * of the buffer, then by length. */
static void add_buffers(predreg_sends_t *sends, rank_t *rank,
                        const ucs_reuse_sends_t *sorted, size_t num)
{
    size_t begin, end;

    for (begin = 0; begin < num; begin = end) {
        end = begin + 1;
        while ((end < num) && (sorted[end].address == sorted[begin].address)) {
            ++end;
        }

        if (sorted[begin].address != 0) {
            add_buffer(sends, rank, &sorted[begin], end - begin);
        }
    }
}

/* Add the numbers of a trace over all buffers */
static void add_totals(predreg_sends_t *sends, const ucs_rcache_trace_t *trace)
{
    uint64_t went = 0;
    size_t i;

    for (i = 0; i < trace->num_sends; ++i) {
        sends->sends  += trace->sends[i].count;
        sends->copied += trace->sends[i].copied;
        if (trace->sends[i].address == 0) {
            sends->others += trace->sends[i].count;
        }
    }

    (void)ucs_rcache_trace_get_counter(trace, "eager_hot", &went);
    sends->went += went;
}

static void add_rank(predreg_sends_t *sends, const ucs_rcache_trace_t *trace,
                     const rank_t *rank)
{
    uint64_t before = sends->sends;

    add_totals(sends, trace);
    sends->most        = ucs_max(sends->most, rank->most);
    sends->length_sum += most_used_length(trace);
    sends->buffers    += rank->buffers;
    if (rank->sends > 0) {
        sends->reused += (double)(rank->sends - rank->buffers) / rank->sends;
    }

    if (rank->costs != NULL) {
        sends->time          += recorded_time(trace);
        sends->known_sends   += sends->sends - before;
        sends->known_buffers += rank->buffers;
        ++sends->calibrated;
    }
    ++sends->ranks;
}

void predreg_sends_add(predreg_sends_t *sends, const ucs_rcache_trace_t *trace,
                       const ucs_reuse_costs_t *costs, double fraction)
{
    rank_t rank = {.costs = costs};
    ucs_reuse_sends_t *sorted;

    if (trace->num_sends == 0) {
        return;
    }

    sorted = predreg_alloc(trace->num_sends, sizeof(*sorted));
    memcpy(sorted, trace->sends, trace->num_sends * sizeof(*sorted));
    qsort(sorted, trace->num_sends, sizeof(*sorted), compare_sends);
    if (costs != NULL) {
        ucs_reuse_thresholds(costs, fraction, rank.thresholds);
    }
    add_buffers(sends, &rank, sorted, trace->num_sends);
    add_rank(sends, trace, &rank);
    free(sorted);
}

predreg_eager_advice_t predreg_sends_advise(const predreg_sends_t *sends)
{
    if (sends->calibrated == 0) {
        return PREDREG_EAGER_UNKNOWN;
    } else if (sends->gain.sends == 0) {
        return PREDREG_EAGER_NEVER;
    } else if (!(sends->gain.saved > 0)) {
        return PREDREG_EAGER_LOSES;
    }

    return (sends->gain.saved < PREDREG_GAIN_WORTH_PART * sends->time) ?
           PREDREG_EAGER_LITTLE : PREDREG_EAGER_YES;
}

int predreg_is_in_arena(const ucs_rcache_trace_t *trace)
{
    const char *size = ucs_rcache_trace_get_meta(trace, "knob.ARENA");

    return (size != NULL) && strcmp(size, "0");
}

void predreg_gain_add(predreg_gain_t *gain,
                      const predreg_replay_result_t *pinned,
                      const predreg_replay_result_t *predict,
                      const predreg_replay_result_t *arena, int recorded)
{
    if (arena->bound_bytes == 0) {
        return;
    }

    ++gain->ranks;
    gain->uses            += arena->uses;
    gain->answered        += arena->answered;
    gain->recorded        += !!recorded;
    gain->saved           += ucs_min(predict->waited, pinned->waited) - arena->waited;
    gain->time            += predict->duration;
    gain->size             = ucs_max(gain->size, arena->bound_bytes);
    gain->average         += arena->pinned_avg_bytes;
    gain->predict_average += predict->pinned_avg_bytes;
    gain->pinned_average  += pinned->pinned_avg_bytes;
}

predreg_gain_advice_t predreg_gain_advise(const predreg_gain_t *gain)
{
    if (gain->ranks == 0) {
        return PREDREG_GAIN_NONE;
    } else if (gain->recorded > 0) {
        return PREDREG_GAIN_RECORDED;
    } else if (gain->answered == 0) {
        return PREDREG_GAIN_UNUSED;
    } else if (gain->saved < 0) {
        return PREDREG_GAIN_LOSES;
    } else if (gain->saved < PREDREG_GAIN_WORTH_PART * gain->time) {
        return PREDREG_GAIN_LITTLE;
    }

    return (gain->average > gain->pinned_average) ? PREDREG_GAIN_MEMORY : PREDREG_GAIN_YES;
}

void predreg_gain_put(ucs_json_t *json, const predreg_gain_t *gain)
{
    ucs_json_string(json, "arena", gain_advice_names[predreg_gain_advise(gain)]);
    JSON_UINT(gain, ranks);
    JSON_UINT(gain, size);
    JSON_UINT(gain, uses);
    JSON_UINT(gain, answered);
}

void predreg_sends_put(ucs_json_t *json, const predreg_sends_t *sends)
{
    ucs_json_string(json, "eager",
                    predreg_eager_advice_names[predreg_sends_advise(sends)]);
    JSON_UINT(sends, ranks);
    JSON_UINT(sends, calibrated);
    JSON_UINT(sends, buffers);
    JSON_UINT(sends, sends);
    JSON_UINT(sends, copied);
    JSON_UINT(sends, others);
    JSON_UINT(sends, went);
    ucs_json_uint(json, "most_sends", sends->most);
}
