/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "stats.h"

#include <math.h>
#include <stdio.h>

#define NSEC_PER_USEC 1000ul
#define MILLION       1000000ul


const char *ucs_rcache_pred_policy_names[] = {
    [UCS_RCACHE_PRED_POLICY_PREDICT]      = "predict",
    [UCS_RCACHE_PRED_POLICY_ON_DEMAND]    = "on-demand",
    [UCS_RCACHE_PRED_POLICY_LEAVE_PINNED] = "leave-pinned",
    [UCS_RCACHE_PRED_POLICY_LAST]         = NULL
};

const char *ucs_rcache_pred_mode_names[] = {
    [UCS_RCACHE_PRED_MODE_NONE]     = "off",
    [UCS_RCACHE_PRED_MODE_THREAD]   = "thread",
    [UCS_RCACHE_PRED_MODE_PROGRESS] = "progress",
    [UCS_RCACHE_PRED_MODE_LAST]     = NULL
};


#define COUNTER(_name, _unit, _member, _num, _always, _help) \
    {_name, UCS_RCACHE_PRED_UNIT_##_unit, \
     ucs_offsetof(ucs_rcache_pred_snapshot_t, _member), _num, _always, _help}

/* A counter of the cache, which is known only where there is a cache */
#define STAT(_name, _unit, _help) \
    COUNTER(#_name, _unit, stats._name, 1, 0, _help)

/* The counters of what one subsystem has of bytes_now and regions_now. Scripts
 * know the first one of some by another name */
#define SUBSYSTEM(_name, _now, _id, _who) \
    COUNTER(_now, BYTES, SUBSYSTEM_STATS(_id).bytes_now, 1, 0, \
            "memory that " _who " has registered now"), \
    COUNTER(_name "_bytes_peak", BYTES, SUBSYSTEM_STATS(_id).bytes_peak, 1, 0, \
            "memory that " _who " had registered at most"), \
    COUNTER(_name "_regions_now", COUNT, SUBSYSTEM_STATS(_id).regions_now, 1, \
            0, "registrations of " _who " now")

#define SUBSYSTEM_STATS(_id) \
    stats.subsystems[UCS_RCACHE_PRED_SUBSYSTEM_##_id]

const ucs_rcache_pred_counter_t ucs_rcache_pred_counters[] = {
    COUNTER("uses", COUNT, stats.uses, 1, 1,
            "times a communication needed its buffer registered"),
    STAT(hits, COUNT, "uses that found it registered"),
    STAT(late, COUNT, "uses that came before the registration predicted for "
         "them was complete"),
    STAT(early, COUNT, "hits on a buffer registered ahead by more than a "
         "quarter of its period"),
    STAT(wasted, COUNT, "registrations ahead of a use that never came"),
    STAT(bytes_now, BYTES, "memory registered now, by all subsystems"),
    STAT(bytes_peak, BYTES, "memory registered at a time, at most"),
    STAT(bytes_avg, BYTES, "memory registered, on average over time"),
    COUNTER("pool_bytes", BYTES, pool_bytes, 1, 1,
            "registered by the memory pools of UCX itself"),
    COUNTER("kernel_pinned_bytes", BYTES, kernel_pinned, 1, 1,
            "pinned by the kernel's count, pools included"),
    STAT(regs_critical, COUNT, "registrations that a communication waited for"),
    STAT(regs_helper, COUNT, "registrations ahead of a use"),
    STAT(deregs, COUNT, "deregistrations"),
    STAT(precedents, COUNT, "uses after which another one was expected as "
         "after those of other buffers"),
    STAT(evictions, COUNT, "regions given up to make room"),
    STAT(evictions_node, COUNT, "of these, for a bound of the node"),
    STAT(evictions_system, COUNT, "of these, as the system refused a registration"),
    STAT(reg_failures, COUNT, "registrations that failed for good"),
    STAT(refused, COUNT, "times there was no room"),
    STAT(refused_node, COUNT, "times other processes of the node were asked for room"),
    STAT(refused_system, COUNT, "times the system refused a registration"),
    STAT(in_pieces, COUNT, "uses registered in pieces, or done without"),
    STAT(pieces, COUNT, "registrations of pieces"),
    STAT(regions_now, COUNT, "registrations now, of all subsystems"),
    STAT(regions_peak, COUNT, "registrations at a time, at most"),
    SUBSYSTEM("cache", "cache_bytes_now", CACHE, "the cache"),
    SUBSYSTEM("eager", "eager_bytes_now", EAGER, "small reused sends"),
    SUBSYSTEM("arena", "arena_bytes", ARENA, "the pre-registered arena"),
    SUBSYSTEM("firehose", "firehose_bytes", FIREHOSE, "firehose"),
    STAT(dq_dropped, COUNT, "entries that the deregistration queue lost"),
    STAT(forgotten, COUNT, "uses of buffers that were forgotten, as KNOWN_REGIONS "
         "allows no more"),
    STAT(unmapped, COUNT, "known buffers whose memory was unmapped"),
    COUNTER("prediction_errors", COUNT, stats.prediction_errors,
            UCS_RCACHE_PRED_ERROR_CLASSES, 0,
            "uses that came while one was predicted, by the error: up to 0.5, "
            "1, 5, 10, 25 %, and more"),
    STAT(helper_rounds, COUNT, "times the helper's work was looked after"),
    COUNTER("critical_path", NSEC, stats.time_critical, 1, 0,
            "time uses spent registering, deregistering and waiting"),
    STAT(budget_spent, NSEC, "what giving up memory has cost, as the budget "
         "counts it"),
    STAT(budget_time, NSEC, "processor time that the process could have had, of "
         "which the budget is a part"),
    STAT(room_lost, NSEC, "time uses spent registering again what was given up for "
         "room"),
    COUNTER("helper_cpu", NSEC, helper_cpu, 1, 0,
            "processor time of the helper thread"),
    COUNTER("eager_sends", COUNT, eager_sends, 1, 1,
            "small sends that were looked at"),
    COUNTER("eager_hot", COUNT, eager_hot, 1, 1,
            "small sends that went without a copy"),
    COUNTER("eager_bytes_saved", BYTES, eager_bytes_saved, 1, 1,
            "bytes of small sends that were not copied"),
    COUNTER("eager_buffers_hot", COUNT, eager_buffers_hot, 1, 1,
            "times a buffer was registered for its small sends"),
    COUNTER("arena_answered", COUNT, arena_answered, 1, 0,
            "uses of memory of the arena, which needed no registration"),
    COUNTER("arena_committed", BYTES, arena_committed, 1, 0,
            "memory that the arena has"),
    COUNTER("arena_live", BYTES, arena_live, 1, 0,
            "memory of the arena that the program has"),
    COUNTER("arena_refused", COUNT, arena_refused, 1, 0,
            "mappings that found no room in the arena"),
    COUNTER("arena_zero", NSEC, arena_zero, 1, 0,
            "time for filling memory of the arena with zeros"),
    COUNTER("firehose_requests", COUNT, firehose_requests, 1, 1,
            "requests for firehoses"),
    COUNTER("firehose_hits", COUNT, firehose_hits, 1, 1,
            "requests for firehoses that needed no message"),
    COUNTER("duration", NSEC, stats.duration, 1, 0,
            "time over which the average is taken"),
    {NULL}
};


int
ucs_rcache_pred_counter_is_known(const ucs_rcache_pred_counter_t *counter,
                                 const ucs_rcache_pred_snapshot_t *snapshot)
{
    return counter->always ||
           (snapshot->policy != UCS_RCACHE_PRED_POLICY_LEAVE_PINNED);
}

uint64_t
ucs_rcache_pred_counter_get(const ucs_rcache_pred_counter_t *counter,
                            const ucs_rcache_pred_snapshot_t *snapshot,
                            unsigned index)
{
    return ((const uint64_t*)((const char*)snapshot +
                              counter->offset))[index];
}

/* Written as two integers, since the format of floating-point numbers depends
 * on the locale */
static void millionths_to_json(uint64_t value, ucs_string_buffer_t *strb)
{
    ucs_string_buffer_appendf(strb, "%lu.%06lu", value / MILLION,
                              value % MILLION);
}

static void value_to_json(const ucs_rcache_pred_counter_t *counter,
                          uint64_t value, ucs_string_buffer_t *strb)
{
    if (counter->unit == UCS_RCACHE_PRED_UNIT_NSEC) {
        millionths_to_json(value / NSEC_PER_USEC, strb);
    } else {
        ucs_string_buffer_appendf(strb, "%lu", value);
    }
}

static void values_to_json(const ucs_rcache_pred_counter_t *counter,
                           const ucs_rcache_pred_snapshot_t *snapshot,
                           ucs_string_buffer_t *strb)
{
    unsigned i;

    for (i = 0; i < counter->num; ++i) {
        ucs_string_buffer_appendf(strb, "%s", (i == 0) ? "[" : ",");
        value_to_json(counter,
                      ucs_rcache_pred_counter_get(counter, snapshot, i), strb);
    }
    ucs_string_buffer_appendf(strb, "]");
}

void ucs_rcache_pred_counter_to_json(const ucs_rcache_pred_counter_t *counter,
                                     const ucs_rcache_pred_snapshot_t *snapshot,
                                     ucs_string_buffer_t *strb)
{
    ucs_string_buffer_appendf(
            strb, "\"%s%s\":", counter->name,
            (counter->unit == UCS_RCACHE_PRED_UNIT_NSEC) ? "_seconds" : "");
    if (!ucs_rcache_pred_counter_is_known(counter, snapshot)) {
        ucs_string_buffer_appendf(strb, "null");
    } else if (counter->num > 1) {
        values_to_json(counter, snapshot, strb);
    } else {
        value_to_json(counter,
                      ucs_rcache_pred_counter_get(counter, snapshot, 0), strb);
    }
}

void
ucs_rcache_pred_snapshot_to_json(const ucs_rcache_pred_snapshot_t *snapshot,
                                 ucs_string_buffer_t *strb)
{
    const ucs_rcache_pred_counter_t *counter;

    if (snapshot->rank < 0) {
        ucs_string_buffer_appendf(strb, "\"rank\":null");
    } else {
        ucs_string_buffer_appendf(strb, "\"rank\":%d", snapshot->rank);
    }

    ucs_string_buffer_appendf(strb, ",\"pid\":%d,\"policy\":\"%s\"",
                              snapshot->pid,
                              ucs_rcache_pred_policy_names[snapshot->policy]);
    if (snapshot->policy == UCS_RCACHE_PRED_POLICY_LEAVE_PINNED) {
        ucs_string_buffer_appendf(strb, ",\"helper\":null");
    } else {
        ucs_string_buffer_appendf(strb, ",\"helper\":\"%s\"",
                                  ucs_rcache_pred_mode_names[snapshot->mode]);
    }

    ucs_string_buffer_appendf(strb, ",\"budget\":");
    if ((snapshot->policy != UCS_RCACHE_PRED_POLICY_PREDICT) ||
        isinf(snapshot->budget)) {
        ucs_string_buffer_appendf(strb, "null");
    } else {
        millionths_to_json(lround(snapshot->budget * MILLION), strb);
    }

    for (counter = ucs_rcache_pred_counters; counter->name != NULL; ++counter) {
        ucs_string_buffer_appendf(strb, ",");
        ucs_rcache_pred_counter_to_json(counter, snapshot, strb);
    }
}

void ucs_rcache_pred_counter_name(const ucs_rcache_pred_counter_t *counter,
                                  unsigned index,
                                  char name[UCS_RCACHE_PRED_COUNTER_NAME])
{
    const char *unit = (counter->unit == UCS_RCACHE_PRED_UNIT_NSEC) ? "_ns" :
                                                                      "";

    if (counter->num > 1) {
        snprintf(name, UCS_RCACHE_PRED_COUNTER_NAME, "%s%s_%u", counter->name,
                 unit, index);
    } else {
        snprintf(name, UCS_RCACHE_PRED_COUNTER_NAME, "%s%s", counter->name,
                 unit);
    }
}

void ucs_rcache_pred_counters_for_each(
        const ucs_rcache_pred_snapshot_t *snapshot,
        ucs_rcache_pred_counter_cb_t cb, void *arg)
{
    const ucs_rcache_pred_counter_t *counter;
    char name[UCS_RCACHE_PRED_COUNTER_NAME];
    unsigned i;

    for (counter = ucs_rcache_pred_counters; counter->name != NULL; ++counter) {
        if (!ucs_rcache_pred_counter_is_known(counter, snapshot)) {
            continue;
        }

        for (i = 0; i < counter->num; ++i) {
            ucs_rcache_pred_counter_name(counter, i, name);
            cb(arg, name, ucs_rcache_pred_counter_get(counter, snapshot, i));
        }
    }
}
