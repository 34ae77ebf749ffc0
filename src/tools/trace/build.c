/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "trace_int.h"

#include <tools/base/containers.h>
#include <ucs/reuse/costs.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The largest number of sends in a record about a small buffer. With a larger number, a
 * sum over all buffers might not fit into 64 bits */
#define BUILD_MAX_COUNT (1ul << 40)


ucs_status_t trace_error(const trace_source_t *source, size_t place,
                         const char *format, ...)
{
    char message[256];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);

    ucs_error("%s: %s %zu: %s", source->name, source->unit, place, message);
    return UCS_ERR_INVALID_PARAM;
}

void trace_builder_init(trace_builder_t *builder, const trace_source_t *source)
{
    *builder = (trace_builder_t){
        .source = *source,
        .trace  = predreg_alloc(1, sizeof(*builder->trace))
    };
    builder->trace->path = predreg_copy(source->name, strlen(source->name));
}

void trace_for_each(const ucs_rcache_trace_t *trace,
                    void (*put)(void *arg, unsigned type, const void *record),
                    void *arg)
{
    size_t i;

#define PUT_LIST(_type, _list) \
    for (i = 0; i < trace->num_##_list; ++i) { \
        put(arg, TRACE_RECORD_##_type, &trace->_list[i]); \
    }

    PUT_LIST(META, meta);
    PUT_LIST(DOMAIN, domains);
    PUT_LIST(MODULE, modules);
    PUT_LIST(SITE, sites);
    for (i = 0; i < trace->num_events; ++i) {
        put(arg, TRACE_RECORD_EVENT + trace->events[i].type, &trace->events[i]);
    }
    if (trace->lost > 0) {
        put(arg, TRACE_RECORD_LOST, &trace->lost);
    }
    PUT_LIST(SENDS, sends);
    PUT_LIST(COUNTER, counters);
    if (trace->truncated) {
        put(arg, TRACE_RECORD_TRUNCATED, NULL);
    }
}

void trace_free_strings(unsigned type, const void *record)
{
    const trace_field_t *field;

    trace_for_each_field(field, &trace_types[type]) {
        if (field->style == TRACE_STRING) {
            free(*(char *const*)UCS_PTR_BYTE_OFFSET(record, field->offset));
        }
    }
}

/* Free the strings of a record. An event has no strings, and most records by far are
 * events */
static void free_strings(void *arg, unsigned type, const void *record)
{
    if (type >= TRACE_RECORD_META) {
        trace_free_strings(type, record);
    }
}

void ucs_rcache_trace_free(ucs_rcache_trace_t *trace)
{
    if (trace == NULL) {
        return;
    }

    trace_for_each(trace, free_strings, NULL);
    free(trace->meta);
    free(trace->domains);
    free(trace->events);
    free(trace->sites);
    free(trace->modules);
    free(trace->counters);
    free(trace->sends);
    free(trace->path);
    free(trace);
}

void trace_builder_cleanup(trace_builder_t *builder)
{
    free(builder->origins);
    ucs_rcache_trace_free(builder->trace);
}

/* The begin of a use, a registration and a deregistration must have a length above 0,
 * unless the event failed: a length of 0 may be the reason of the failure */
static ucs_status_t check_length(const trace_builder_t *builder,
                                 const ucs_rcache_pred_event_t *event,
                                 size_t place)
{
    if ((event->length > 0) ||
        (event->result & UCS_RCACHE_PRED_RESULT_FAILED) ||
        ((event->type != UCS_RCACHE_PRED_EVENT_USE_BEGIN) &&
         (event->type != UCS_RCACHE_PRED_EVENT_REG) &&
         (event->type != UCS_RCACHE_PRED_EVENT_DEREG))) {
        return UCS_OK;
    }

    return trace_error(&builder->source, place,
                       "a length of 0: expected 1 or more, or result=failed");
}

static ucs_status_t
build_event(trace_builder_t *builder, const ucs_rcache_pred_event_t *event,
            size_t place, unsigned open)
{
    ucs_rcache_trace_t *trace = builder->trace;
    size_t index              = trace->num_events;
    ucs_status_t status;

    status = check_length(builder, event, place);
    if (status != UCS_OK) {
        return status;
    }

    *predreg_add(trace->events, trace->num_events) = *event;
    *predreg_add(builder->origins, index)          = (trace_origin_t){
        .time  = event->time,
        .index = trace->num_events - 1,
        .place = place,
        .open  = open
    };
    builder->num_open += (open != 0);
    return UCS_OK;
}

/* Add a domain. If the trace already has the domain, only give the domain the new name */
static ucs_status_t
build_domain(trace_builder_t *builder, const ucs_rcache_trace_domain_t *domain,
             size_t place)
{
    ucs_rcache_trace_t *trace = builder->trace;

    if (domain->number > trace->num_domains) {
        return trace_error(&builder->source, place, "domain %u: expected a "
                           "number up to %u, since they are named in order",
                           domain->number, trace->num_domains);
    }

    if (domain->number == trace->num_domains) {
        predreg_add(trace->domains, trace->num_domains);
    } else {
        free(trace->domains[domain->number].name);
    }
    trace->domains[domain->number] = *domain;
    return UCS_OK;
}

static ucs_status_t
check_sends(const trace_builder_t *builder, const ucs_reuse_sends_t *sends,
            size_t place)
{
    if ((sends->length == 0) || (sends->length > UCS_REUSE_MAX_LENGTH)) {
        return trace_error(&builder->source, place,
                           "small sends of %lu bytes: expected 1 to %u",
                           (unsigned long)sends->length, UCS_REUSE_MAX_LENGTH);
    }

    if ((sends->count == 0) || (sends->count > BUILD_MAX_COUNT)) {
        return trace_error(&builder->source, place,
                           "%lu small sends: expected 1 to %lu",
                           (unsigned long)sends->count,
                           BUILD_MAX_COUNT);
    }

    if (sends->copied > sends->count) {
        return trace_error(&builder->source, place,
                           "%lu copied ones of %lu small sends: expected no "
                           "more than these", (unsigned long)sends->copied,
                           (unsigned long)sends->count);
    }

    return UCS_OK;
}

ucs_status_t trace_build(trace_builder_t *builder, unsigned type,
                         const trace_any_t *record, size_t place, unsigned open)
{
    ucs_rcache_trace_t *trace = builder->trace;
    ucs_status_t status       = UCS_OK;

#define ADD(_list) *predreg_add(trace->_list, trace->num_##_list)

    switch (type) {
    case TRACE_RECORD_META:
        ADD(meta) = record->meta;
        break;
    case TRACE_RECORD_DOMAIN:
        status = build_domain(builder, &record->domain, place);
        break;
    case TRACE_RECORD_SITE:
        ADD(sites) = record->site;
        break;
    case TRACE_RECORD_MODULE:
        ADD(modules) = record->module;
        break;
    case TRACE_RECORD_COUNTER:
        ADD(counters) = record->counter;
        break;
    case TRACE_RECORD_LOST:
        trace->lost += ucs_min(record->lost, UINT64_MAX - trace->lost);
        break;
    case TRACE_RECORD_TRUNCATED:
        trace->truncated = 1;
        break;
    case TRACE_RECORD_SENDS:
        status = check_sends(builder, &record->sends, place);
        if (status == UCS_OK) {
            ADD(sends) = record->sends;
        }
        break;
    default:
        return build_event(builder, &record->event, place, open);
    }

    if (status != UCS_OK) {
        trace_free_strings(type, record);
    }
    return status;
}

PREDREG_COMPARE(build_compare, trace_origin_t, time, index)

/* Move the events into the order of their origins. The origins have been sorted, and have
 * the former place of each event. The function follows the cycles of the permutation, and
 * so needs room for only one event that is out of place. */
static void build_permute(trace_builder_t *builder)
{
    trace_origin_t *origins         = builder->origins;
    ucs_rcache_pred_event_t *events = builder->trace->events;
    ucs_rcache_pred_event_t first;
    size_t i, to, from;

    for (i = 0; i < builder->trace->num_events; ++i) {
        first = events[i];
        for (to = i; origins[to].index != i; to = from) {
            from              = origins[to].index;
            events[to]        = events[from];
            origins[to].index = to;
        }
        events[to]        = first;
        origins[to].index = to;
    }
}

void trace_builder_sort(trace_builder_t *builder)
{
    trace_origin_t *origins = builder->origins;
    size_t i;

    for (i = 1; i < builder->trace->num_events; ++i) {
        if (origins[i].time < origins[i - 1].time) {
            qsort(origins, builder->trace->num_events, sizeof(*origins),
                  build_compare);
            build_permute(builder);
            return;
        }
    }
}
