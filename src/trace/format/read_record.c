/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "read.h"

#include <trace/content/fields.h>

#include <string.h>


/* What is left of the record that is taken apart */
typedef struct content {
    const uint8_t *next;
    const uint8_t *end;
    const char    *problem; /* What is wrong with the record, or NULL */
} content_t;


static const uint8_t *take_bytes(content_t *content, size_t count)
{
    const uint8_t *bytes = content->next;

    if (count > (size_t)(content->end - bytes)) {
        content->problem = "a record that is too short";
        content->next    = content->end;
        return NULL;
    }

    content->next += count;
    return bytes;
}

/* @return the next number, of 1, 2, 4 or 8 bytes. Where the record has ended
 * before it, it is 0: writers before this field was added did not know it */
static uint64_t take_number(content_t *content, size_t size)
{
    const uint8_t *bytes = NULL;
    uint64_t value       = 0;

    if (content->next < content->end) {
        bytes = take_bytes(content, size);
    }
    if (bytes != NULL) {
        memcpy(&value, bytes, size);
    }

    return value;
}

static uint64_t take_number_upto(content_t *content, size_t size, uint64_t max,
                                 const char *problem)
{
    uint64_t value = take_number(content, size);

    if (value > max) {
        content->problem = problem;
        return 0;
    }

    return value;
}

static trace_string_t take_string(content_t *content)
{
    trace_string_t string = { .data = "" };
    const void *data;
    size_t length;

    length = take_number_upto(content, 2, UCS_RCACHE_TRACE_MAX_STRING,
                              "a string of more than 16383 bytes");
    data   = take_bytes(content, length);
    if (data == NULL) {
        return string;
    }

    if (memchr(data, '\0', length) != NULL) {
        content->problem = "a string with a zero in it";
    }
    string.data   = data;
    string.length = length;
    return string;
}

static ucs_status_t read_event(trace_builder_t *builder, content_t *content,
                               unsigned type, size_t place)
{
    ucs_rcache_pred_event_t event = { .type = type };
    unsigned has                  = trace_types[type].has;
    const trace_field_t *field;

    event.time = take_number(content, 8);
    if (has & TRACE_HAS_RANGE) {
        event.address = take_number(content, 8);
        event.length  = take_number(content, 8);
    }
    for (field = trace_fields; field < trace_fields + TRACE_NUM_FIELDS;
         ++field) {
        if (field->part & has) {
            trace_field_set(field, &event,
                            take_number_upto(content, field->size,
                                             trace_field_max(field),
                                             "an unknown kind or doer"));
        }
    }

    return (content->problem != NULL) ?
           UCS_OK : trace_build_event(builder, &event, place, 0);
}

static ucs_status_t read_meta(trace_builder_t *builder, content_t *content)
{
    trace_string_t key   = take_string(content);
    trace_string_t value = take_string(content);

    return (content->problem != NULL) ?
           UCS_OK : trace_build_meta(builder, &key, &value);
}

static ucs_status_t read_domain(trace_builder_t *builder, content_t *content,
                                size_t place)
{
    uint64_t number     = take_number(content, 2);
    trace_string_t name = take_string(content);

    return (content->problem != NULL) ?
           UCS_OK : trace_build_domain(builder, number, &name, place);
}

static ucs_status_t read_site(trace_builder_t *builder, content_t *content)
{
    ucs_rcache_trace_site_t site = { 0 };
    unsigned i;

    site.caller     = take_number(content, 8);
    site.stack      = take_number(content, 8);
    site.num_frames = take_number_upto(content, 1, UCS_RCACHE_TRACE_MAX_FRAMES,
                                       "a site of too many frames");
    for (i = 0; i < site.num_frames; ++i) {
        site.frames[i] = take_number(content, 8);
    }

    return (content->problem != NULL) ?
           UCS_OK : trace_build_site(builder, &site);
}

static ucs_status_t read_module(trace_builder_t *builder, content_t *content)
{
    ucs_rcache_trace_module_t module = { 0 };
    trace_string_t path;
    const uint8_t *build_id;

    module.start           = take_number(content, 8);
    module.end             = take_number(content, 8);
    module.bias            = take_number(content, 8);
    path                   = take_string(content);
    module.build_id_length = take_number_upto(content, 1,
                                              UCS_RCACHE_TRACE_MAX_BUILD_ID,
                                              "a build ID that is too long");
    build_id               = take_bytes(content, module.build_id_length);
    if (content->problem != NULL) {
        return UCS_OK;
    }

    memcpy(module.build_id, build_id, module.build_id_length);
    return trace_build_module(builder, &module, &path);
}

static ucs_status_t read_counter(trace_builder_t *builder, content_t *content)
{
    trace_string_t name = take_string(content);
    uint64_t value      = take_number(content, 8);

    return (content->problem != NULL) ?
           UCS_OK : trace_build_counter(builder, &name, value);
}

static ucs_status_t read_sends(trace_builder_t *builder, content_t *content,
                               size_t place)
{
    ucs_reuse_sends_t sends;

    sends.address = take_number(content, 8);
    sends.length  = take_number(content, 8);
    sends.count   = take_number(content, 8);
    sends.copied  = take_number(content, 8);
    return (content->problem != NULL) ?
           UCS_OK : trace_build_sends(builder, &sends, place);
}

static ucs_status_t read_typed(trace_builder_t *builder, content_t *content,
                               unsigned type, size_t place)
{
    switch (type) {
    case TRACE_RECORD_META:
        return read_meta(builder, content);
    case TRACE_RECORD_DOMAIN:
        return read_domain(builder, content, place);
    case TRACE_RECORD_SITE:
        return read_site(builder, content);
    case TRACE_RECORD_MODULE:
        return read_module(builder, content);
    case TRACE_RECORD_COUNTER:
        return read_counter(builder, content);
    case TRACE_RECORD_LOST:
        trace_build_lost(builder, take_number(content, 8));
        return UCS_OK;
    case TRACE_RECORD_TRUNCATED:
        builder->trace->truncated = 1;
        return UCS_OK;
    case TRACE_RECORD_SENDS:
        return read_sends(builder, content, place);
    default:
        type -= TRACE_RECORD_EVENT;
        return (type < UCS_RCACHE_PRED_EVENT_LAST) ?
               read_event(builder, content, type, place) : UCS_OK;
    }
}

ucs_status_t trace_read_record(trace_builder_t *builder,
                               const trace_record_t *head,
                               const uint8_t *bytes, size_t place)
{
    content_t content = { .next = bytes, .end = bytes + head->length };
    ucs_status_t status;

    status = read_typed(builder, &content, head->type, place);
    return (content.problem != NULL) ?
           trace_error(&builder->source, place, "%s", content.problem) : status;
}
