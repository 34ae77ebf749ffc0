/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "trace_int.h"

#include <ucs/reuse/costs.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most sends of a small buffer in a trace: the sums over all buffers have 64
 * bits as well */
#define BUILD_MAX_COUNT (1ul << 40)

/* Room of an array at first, elements: a power of 2 */
#define BUILD_MIN_ELEMS 8


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

static ucs_status_t build_no_memory(const trace_builder_t *builder)
{
    ucs_error("%s: out of memory after %zu events", builder->source.name,
              builder->trace->num_events);
    return UCS_ERR_NO_MEMORY;
}

/* Make room for one more element. The room of an array is a power of 2, so
 * that the array grows only if its length is one. @return the array, which
 * may have moved, or NULL without memory: the array has not moved then. */
static void *build_grow(void *array, size_t length, size_t size)
{
    if (length == 0) {
        return malloc(BUILD_MIN_ELEMS * size);
    }

    if ((length < BUILD_MIN_ELEMS) || !ucs_is_pow2(length)) {
        return array;
    }

    if (length > SIZE_MAX / 2 / size) {
        return NULL;
    }

    return realloc(array, 2 * length * size);
}

/* Make room in an array for one more element. @return whether there is room */
#define BUILD_ROOM(_array, _length) \
    ({ \
        void *_room = build_grow(_array, _length, sizeof(*(_array))); \
        \
        if (_room != NULL) { \
            (_array) = _room; \
        } \
        _room != NULL; \
    })

/* @return a copy that is terminated by a zero, or NULL without memory */
static char *build_string(const trace_string_t *string)
{
    char *copy = malloc(string->length + 1);

    if (copy != NULL) {
        memcpy(copy, string->data, string->length);
        copy[string->length] = '\0';
    }

    return copy;
}

ucs_status_t trace_builder_init(trace_builder_t *builder,
                                const trace_source_t *source)
{
    const trace_string_t path = { source->name, strlen(source->name) };

    builder->origins  = NULL;
    builder->source   = *source;
    builder->num_open = 0;
    builder->trace    = calloc(1, sizeof(*builder->trace));
    if (builder->trace == NULL) {
        goto err;
    }

    builder->trace->path = build_string(&path);
    if (builder->trace->path == NULL) {
        goto err_free_trace;
    }

    return UCS_OK;

err_free_trace:
    free(builder->trace);
err:
    ucs_error("%s: out of memory", source->name);
    return UCS_ERR_NO_MEMORY;
}

void ucs_rcache_trace_free(ucs_rcache_trace_t *trace)
{
    size_t i;

    if (trace == NULL) {
        return;
    }

    for (i = 0; i < trace->num_meta; ++i) {
        free(trace->meta[i].key);
        free(trace->meta[i].value);
    }
    for (i = 0; i < trace->num_domains; ++i) {
        free(trace->domains[i]);
    }
    for (i = 0; i < trace->num_modules; ++i) {
        free(trace->modules[i].path);
    }
    for (i = 0; i < trace->num_counters; ++i) {
        free(trace->counters[i].name);
    }

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

/* A use or registration must be of some memory, unless it failed, maybe for
 * this reason */
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

ucs_status_t trace_build_event(trace_builder_t *builder,
                               const ucs_rcache_pred_event_t *event,
                               size_t place, unsigned open)
{
    ucs_rcache_trace_t *trace = builder->trace;
    size_t index              = trace->num_events;
    ucs_status_t status;

    status = check_length(builder, event, place);
    if (status != UCS_OK) {
        return status;
    }

    if (!BUILD_ROOM(trace->events, index) ||
        !BUILD_ROOM(builder->origins, index)) {
        return build_no_memory(builder);
    }

    trace->events[index]    = *event;
    builder->origins[index] = (trace_origin_t){
        .time  = event->time,
        .index = index,
        .place = place,
        .open  = open
    };
    builder->num_open += (open != 0);
    ++trace->num_events;
    return UCS_OK;
}

ucs_status_t trace_build_meta(trace_builder_t *builder,
                              const trace_string_t *key,
                              const trace_string_t *value)
{
    ucs_rcache_trace_t *trace = builder->trace;
    ucs_rcache_trace_meta_t *meta;

    if (!BUILD_ROOM(trace->meta, trace->num_meta)) {
        goto err;
    }

    meta      = &trace->meta[trace->num_meta];
    meta->key = build_string(key);
    if (meta->key == NULL) {
        goto err;
    }

    meta->value = build_string(value);
    if (meta->value == NULL) {
        goto err_free_key;
    }

    ++trace->num_meta;
    return UCS_OK;

err_free_key:
    free(meta->key);
err:
    return build_no_memory(builder);
}

ucs_status_t trace_build_domain(trace_builder_t *builder, uint64_t number,
                                const trace_string_t *name, size_t place)
{
    ucs_rcache_trace_t *trace = builder->trace;
    char *copy;

    if ((number > trace->num_domains) || (number > UINT16_MAX)) {
        return trace_error(
                &builder->source, place, "domain %lu: expected a number up to "
                "%u, since they are named in order", (unsigned long)number,
                ucs_min(trace->num_domains, UINT16_MAX));
    }

    if (!BUILD_ROOM(trace->domains, trace->num_domains)) {
        return build_no_memory(builder);
    }

    copy = build_string(name);
    if (copy == NULL) {
        return build_no_memory(builder);
    }

    if (number == trace->num_domains) {
        ++trace->num_domains;
    } else {
        free(trace->domains[number]);
    }
    trace->domains[number] = copy;
    return UCS_OK;
}

ucs_status_t trace_build_site(trace_builder_t *builder,
                              const ucs_rcache_trace_site_t *site)
{
    ucs_rcache_trace_t *trace = builder->trace;

    if (!BUILD_ROOM(trace->sites, trace->num_sites)) {
        return build_no_memory(builder);
    }

    trace->sites[trace->num_sites++] = *site;
    return UCS_OK;
}

ucs_status_t trace_build_module(trace_builder_t *builder,
                                const ucs_rcache_trace_module_t *module,
                                const trace_string_t *path)
{
    ucs_rcache_trace_t *trace = builder->trace;
    char *copy;

    if (!BUILD_ROOM(trace->modules, trace->num_modules)) {
        return build_no_memory(builder);
    }

    copy = build_string(path);
    if (copy == NULL) {
        return build_no_memory(builder);
    }

    trace->modules[trace->num_modules]      = *module;
    trace->modules[trace->num_modules].path = copy;
    ++trace->num_modules;
    return UCS_OK;
}

ucs_status_t trace_build_counter(trace_builder_t *builder,
                                 const trace_string_t *name, uint64_t value)
{
    ucs_rcache_trace_t *trace = builder->trace;
    char *copy;

    if (!BUILD_ROOM(trace->counters, trace->num_counters)) {
        return build_no_memory(builder);
    }

    copy = build_string(name);
    if (copy == NULL) {
        return build_no_memory(builder);
    }

    trace->counters[trace->num_counters].name  = copy;
    trace->counters[trace->num_counters].value = value;
    ++trace->num_counters;
    return UCS_OK;
}

ucs_status_t trace_build_sends(trace_builder_t *builder,
                               const ucs_reuse_sends_t *sends, size_t place)
{
    ucs_rcache_trace_t *trace = builder->trace;

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

    if (!BUILD_ROOM(trace->sends, trace->num_sends)) {
        return build_no_memory(builder);
    }

    trace->sends[trace->num_sends++] = *sends;
    return UCS_OK;
}

void trace_build_lost(trace_builder_t *builder, uint64_t count)
{
    uint64_t room = UINT64_MAX - builder->trace->lost;

    builder->trace->lost += ucs_min(count, room);
}

static int build_compare(const void *a, const void *b)
{
    const trace_origin_t *origin_a = a;
    const trace_origin_t *origin_b = b;

    if (origin_a->time != origin_b->time) {
        return (origin_a->time < origin_b->time) ? -1 : 1;
    }

    return (origin_a->index < origin_b->index) ? -1 : 1;
}

/* Move the events into the order of their origins, which are sorted and have
 * the former place of each event. Follows the cycles of the permutation, so
 * that one event at a time is set aside. */
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

ucs_rcache_trace_t *trace_builder_take(trace_builder_t *builder)
{
    ucs_rcache_trace_t *trace = builder->trace;

    builder->trace = NULL;
    return trace;
}
