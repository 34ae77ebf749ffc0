/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "stats.h"

#include <ucs/base/json.h>

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

const char *ucs_rcache_pred_pool_names[] = {
    [UCS_RCACHE_PRED_POOL_RC_RECEIVE] = "rc_receive",
    [UCS_RCACHE_PRED_POOL_RC_SEND]    = "rc_send",
    [UCS_RCACHE_PRED_POOL_UD_RECEIVE] = "ud_receive",
    [UCS_RCACHE_PRED_POOL_UD_SEND]    = "ud_send",
    [UCS_RCACHE_PRED_POOL_UCP]        = "ucp",
    [UCS_RCACHE_PRED_POOL_OTHER]      = "other",
    [UCS_RCACHE_PRED_POOL_LAST]       = NULL
};


#define COUNTER(_name, _unit, _member, _num, _always) \
    {_name, UCS_RCACHE_PRED_UNIT_##_unit, \
     ucs_offsetof(ucs_rcache_pred_snapshot_t, _member), _num, _always}

/* A counter of the cache, which is known only where there is a cache */
#define STAT(_name, _unit) COUNTER(#_name, _unit, stats._name, 1, 0)

/* The counters of one subsystem: its part in bytes_now, the peak of that part, and its
 * part in regions_now. _now is the name of the first one, since scripts know it by
 * another name for some subsystems */
#define SUBSYSTEM(_name, _now, _id) \
    COUNTER(_now, BYTES, SUBSYSTEM_STATS(_id).bytes_now, 1, 0), \
    COUNTER(_name "_bytes_peak", BYTES, SUBSYSTEM_STATS(_id).bytes_peak, 1, 0), \
    COUNTER(_name "_regions_now", COUNT, SUBSYSTEM_STATS(_id).regions_now, 1, 0)

#define SUBSYSTEM_STATS(_id) \
    stats.subsystems[UCS_RCACHE_PRED_SUBSYSTEM_##_id]

/* The bytes of UCX's own pools of one kind */
#define POOL(_name, _id) \
    COUNTER("pool_" _name "_bytes", BYTES, \
            pool_kinds[UCS_RCACHE_PRED_POOL_##_id], 1, 1)

/* The comments of the fields say what each counter counts: ucs_rcache_pred_stats_t, and
 * ucs_rcache_pred_snapshot_t */
const ucs_rcache_pred_counter_t ucs_rcache_pred_counters[] = {
    COUNTER("uses", COUNT, stats.uses, 1, 1),
    STAT(hits, COUNT),
    STAT(late, COUNT),
    STAT(early, COUNT),
    STAT(wasted, COUNT),
    STAT(bytes_now, BYTES),
    STAT(bytes_peak, BYTES),
    STAT(bytes_avg, BYTES),
    COUNTER("pool_bytes", BYTES, pool_bytes, 1, 1),
    POOL("rc_receive", RC_RECEIVE),
    POOL("rc_send", RC_SEND),
    POOL("ud_receive", UD_RECEIVE),
    POOL("ud_send", UD_SEND),
    POOL("ucp", UCP),
    POOL("other", OTHER),
    COUNTER("kernel_pinned_bytes", BYTES, kernel_pinned, 1, 1),
    STAT(regs_critical, COUNT),
    STAT(regs_helper, COUNT),
    STAT(deregs, COUNT),
    STAT(precedents, COUNT),
    STAT(evictions, COUNT),
    STAT(evictions_node, COUNT),
    STAT(evictions_system, COUNT),
    STAT(reg_failures, COUNT),
    STAT(refused, COUNT),
    STAT(refused_node, COUNT),
    STAT(refused_system, COUNT),
    STAT(in_pieces, COUNT),
    STAT(pieces, COUNT),
    STAT(regions_now, COUNT),
    STAT(regions_peak, COUNT),
    COUNTER("keys_now", COUNT, keys_now, 1, 0),
    COUNTER("keys_peak", COUNT, keys_peak, 1, 0),
    COUNTER("keys_limit", LIMIT, keys_limit, 1, 0),
    SUBSYSTEM("cache", "cache_bytes_now", CACHE),
    SUBSYSTEM("eager", "eager_bytes_now", EAGER),
    SUBSYSTEM("arena", "arena_bytes", ARENA),
    SUBSYSTEM("firehose", "firehose_bytes", FIREHOSE),
    STAT(dq_dropped, COUNT),
    STAT(forgotten, COUNT),
    STAT(unmapped, COUNT),
    COUNTER("prediction_errors", COUNT, stats.prediction_errors,
            UCS_RCACHE_PRED_ERROR_CLASSES, 0),
    STAT(helper_rounds, COUNT),
    COUNTER("critical_path", NSEC, stats.time_critical, 1, 0),
    STAT(budget_spent, NSEC),
    STAT(budget_time, NSEC),
    STAT(room_lost, NSEC),
    COUNTER("pressure", NSEC, pressure, 1, 0),
    COUNTER("helper_cpu", NSEC, helper_cpu, 1, 0),
    COUNTER("eager_sends", COUNT, eager_sends, 1, 1),
    COUNTER("eager_hot", COUNT, eager_hot, 1, 1),
    COUNTER("eager_bytes_saved", BYTES, eager_bytes_saved, 1, 1),
    COUNTER("eager_buffers_hot", COUNT, eager_buffers_hot, 1, 1),
    COUNTER("arena_answered", COUNT, arena_answered, 1, 0),
    COUNTER("arena_committed", BYTES, arena_committed, 1, 0),
    COUNTER("arena_live", BYTES, arena_live, 1, 0),
    COUNTER("arena_refused", COUNT, arena_refused, 1, 0),
    COUNTER("arena_zero", NSEC, arena_zero, 1, 0),
    COUNTER("firehose_requests", COUNT, firehose_requests, 1, 1),
    COUNTER("firehose_hits", COUNT, firehose_hits, 1, 1),
    COUNTER("duration", NSEC, stats.duration, 1, 0),
    {NULL}
};


int
ucs_rcache_pred_counter_is_known(const ucs_rcache_pred_counter_t *counter,
                                 const ucs_rcache_pred_snapshot_t *snapshot)
{
    if ((counter->unit == UCS_RCACHE_PRED_UNIT_LIMIT) &&
        (ucs_rcache_pred_counter_get(counter, snapshot, 0) == UINT64_MAX)) {
        return 0;
    }

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

/* Write a number of millionths as a decimal fraction. It is written as two integers,
 * since the format of floating-point numbers depends on the locale */
static void put_millionths(ucs_json_t *json, const char *name, uint64_t value)
{
    ucs_json_printf(json, name, "%lu.%06lu", value / MILLION, value % MILLION);
}

static void put_value(ucs_json_t *json, const char *name,
                      const ucs_rcache_pred_counter_t *counter, uint64_t value)
{
    if (counter->unit == UCS_RCACHE_PRED_UNIT_NSEC) {
        put_millionths(json, name, value / NSEC_PER_USEC);
    } else {
        ucs_json_uint(json, name, value);
    }
}

/* Write a counter; null if the snapshot does not know the counter */
static void put_counter(ucs_json_t *json, const ucs_rcache_pred_counter_t *counter,
                        const ucs_rcache_pred_snapshot_t *snapshot)
{
    int is_time = (counter->unit == UCS_RCACHE_PRED_UNIT_NSEC);
    char name[UCS_RCACHE_PRED_COUNTER_NAME];
    unsigned i;

    snprintf(name, sizeof(name), "%s%s", counter->name, is_time ? "_seconds" : "");
    if (!ucs_rcache_pred_counter_is_known(counter, snapshot)) {
        ucs_json_string(json, name, NULL);
    } else if (counter->num == 1) {
        put_value(json, name, counter,
                  ucs_rcache_pred_counter_get(counter, snapshot, 0));
    } else {
        ucs_json_begin(json, name, '[');
        for (i = 0; i < counter->num; ++i) {
            put_value(json, NULL, counter,
                      ucs_rcache_pred_counter_get(counter, snapshot, i));
        }
        ucs_json_end(json, ']');
    }
}

void
ucs_rcache_pred_snapshot_to_json(const ucs_rcache_pred_snapshot_t *snapshot,
                                 ucs_string_buffer_t *strb)
{
    int is_watched  = (snapshot->policy == UCS_RCACHE_PRED_POLICY_LEAVE_PINNED);
    ucs_json_t json = {.strb = strb};
    const ucs_rcache_pred_counter_t *counter;

    if (snapshot->rank < 0) {
        ucs_json_string(&json, "rank", NULL);
    } else {
        ucs_json_uint(&json, "rank", snapshot->rank);
    }

    ucs_json_uint(&json, "pid", snapshot->pid);
    ucs_json_string(&json, "policy", ucs_rcache_pred_policy_names[snapshot->policy]);
    ucs_json_string(&json, "helper",
                    is_watched ? NULL : ucs_rcache_pred_mode_names[snapshot->mode]);
    if ((snapshot->policy != UCS_RCACHE_PRED_POLICY_PREDICT) ||
        isinf(snapshot->budget)) {
        ucs_json_string(&json, "budget", NULL);
    } else {
        put_millionths(&json, "budget", lround(snapshot->budget * MILLION));
    }

    for (counter = ucs_rcache_pred_counters; counter->name != NULL; ++counter) {
        put_counter(&json, counter, snapshot);
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

void ucs_rcache_pred_pools_text(const uint64_t *kinds, ucs_string_buffer_t *strb)
{
    const char *before = " (";
    unsigned i;

    for (i = 0; i < UCS_RCACHE_PRED_POOL_LAST; ++i) {
        if (kinds[i] > 0) {
            ucs_string_buffer_appendf(strb, "%s%s %.1f MiB", before,
                                      ucs_rcache_pred_pool_names[i],
                                      kinds[i] / (1024. * 1024.));
            before = ", ";
        }
    }

    if (before[0] == ',') {
        ucs_string_buffer_appendf(strb, ")");
    }
}
