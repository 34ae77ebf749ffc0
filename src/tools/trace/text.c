/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "text.h"

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <string.h>

typedef char text_buffer_t[UCS_RCACHE_TRACE_MAX_STRING];


/* Read a token, and copy its string to the buffer */
static trace_string_t
read_string(trace_text_t *text, const char *expected, text_buffer_t buffer)
{
    trace_text_token(text, expected);
    memcpy(buffer, text->token, text->length);
    return (trace_string_t){ buffer, text->length };
}

static ucs_status_t read_meta(trace_text_t *text)
{
    text_buffer_t key_buffer, value_buffer;
    trace_string_t key, value;

    key   = read_string(text, "a key and a value", key_buffer);
    value = read_string(text, "a value", value_buffer);
    return (text->status != UCS_OK) ?
           text->status : trace_build_meta(text->builder, &key, &value);
}

static ucs_status_t read_domain(trace_text_t *text)
{
    text_buffer_t name_buffer;
    trace_string_t name;
    uint64_t number;

    number = trace_text_number(text, TRACE_EXPECT_NUMBER);
    name   = read_string(text, "a name", name_buffer);
    return (text->status != UCS_OK) ?
           text->status :
           trace_build_domain(text->builder, number, &name, text->number);
}

static ucs_status_t read_site(trace_text_t *text)
{
    ucs_rcache_trace_site_t site = { 0 };

    site.caller = trace_text_number(text, TRACE_EXPECT_ADDRESS " (caller)");
    site.stack  = trace_text_number(text, TRACE_EXPECT_ADDRESS " (stack)");
    while (trace_text_has_token(text)) {
        if (site.num_frames == UCS_RCACHE_TRACE_MAX_FRAMES) {
            return trace_error(&text->builder->source, text->number,
                               "a site of more than %u frames",
                               UCS_RCACHE_TRACE_MAX_FRAMES);
        }
        site.frames[site.num_frames++] =
                trace_text_number(text, TRACE_EXPECT_ADDRESS);
    }

    return (text->status != UCS_OK) ?
           text->status : trace_build_site(text->builder, &site);
}

static void
read_build_id(trace_text_t *text, ucs_rcache_trace_module_t *module)
{
    static const char *expected = "a build ID, an even number of up to 64 "
                                  "hexadecimal digits";

    if (!trace_text_has_token(text)) {
        return;
    }

    trace_text_token(text, expected);
    if ((text->status == UCS_OK) &&
        !trace_parse_bytes(text->token, module->build_id,
                           UCS_RCACHE_TRACE_MAX_BUILD_ID,
                           &module->build_id_length)) {
        trace_text_unexpected(text, text->token, expected);
    }
}

static ucs_status_t read_module(trace_text_t *text)
{
    ucs_rcache_trace_module_t module = { 0 };
    text_buffer_t path_buffer;
    trace_string_t path;

    module.start = trace_text_number(text, TRACE_EXPECT_ADDRESS " (start)");
    module.end   = trace_text_number(text, TRACE_EXPECT_ADDRESS " (end)");
    module.bias  = trace_text_number(text, TRACE_EXPECT_NUMBER);
    path         = read_string(text, "a path", path_buffer);
    read_build_id(text, &module);
    return (text->status != UCS_OK) ?
           text->status : trace_build_module(text->builder, &module, &path);
}

static ucs_status_t read_counter(trace_text_t *text)
{
    text_buffer_t name_buffer;
    trace_string_t name;
    uint64_t value;

    name  = read_string(text, "a name and a number", name_buffer);
    value = trace_text_number(text, TRACE_EXPECT_NUMBER);
    return (text->status != UCS_OK) ?
           text->status : trace_build_counter(text->builder, &name, value);
}

static ucs_status_t read_lost(trace_text_t *text)
{
    trace_build_lost(text->builder,
                     trace_text_number(text, TRACE_EXPECT_NUMBER));
    return text->status;
}

static ucs_status_t read_sends(trace_text_t *text)
{
    ucs_reuse_sends_t sends = { 0 };

    sends.address = trace_text_number(text, TRACE_EXPECT_ADDRESS);
    sends.length  = trace_text_number(text, TRACE_EXPECT_NUMBER " (length)");
    sends.count   = trace_text_number(text, TRACE_EXPECT_NUMBER " (sends)");
    if (trace_text_has_token(text)) {
        sends.copied = trace_text_number(text,
                                         TRACE_EXPECT_NUMBER " (copied)");
    }

    return (text->status != UCS_OK) ?
           text->status :
           trace_build_sends(text->builder, &sends, text->number);
}

static ucs_status_t read_truncated(trace_text_t *text)
{
    text->builder->trace->truncated = 1;
    return UCS_OK;
}

/* The records that are no events, by the first word of their line */
static const struct {
    const char   *name;
    ucs_status_t (*func)(trace_text_t *text);
    unsigned     version; /* First version with the record */
} records[] = {
    {"meta", read_meta, 1},
    {"domain", read_domain, 1},
    {"site", read_site, 1},
    {"module", read_module, 1},
    {"lost", read_lost, 1},
    {"counter", read_counter, 1},
    {"sends", read_sends, 2},
    {"truncated", read_truncated, 1}
};

/* Read the rest of a record, after the first word of its line */
static void read_record(trace_text_t *text)
{
    const char *name = text->token;
    size_t i;

    for (i = 0; i < UCS_RCACHE_PRED_EVENT_LAST; ++i) {
        if (!strcmp(name, trace_types[i].name) &&
            (text->version >= trace_types[i].version)) {
            trace_text_event(text, i);
            return;
        }
    }

    for (i = 0; i < ucs_static_array_size(records); ++i) {
        if (!strcmp(name, records[i].name) &&
            (text->version >= records[i].version)) {
            text->status = records[i].func(text);
            return;
        }
    }

    if (!strcmp(name, TRACE_TEXT_NAME)) {
        text->status = trace_error(
                &text->builder->source, text->number,
                "'%s': expected no second trace in a file; "
                "'ucx_predreg dump -o FOLDER' writes one for each", name);
    } else {
        trace_text_unexpected(
                text, name, "begin, end, reg, dereg, deadline, unmet, unmap, "
                "map (version 3), meta, domain, site, module, sends (version "
                "2), counter, lost or truncated");
    }
}

/* Check that at most a comment follows */
static void end_line(trace_text_t *text)
{
    if (trace_text_has_token(text)) {
        trace_text_token(text, "");
        if (text->status == UCS_OK) {
            trace_text_unexpected(text, text->token, "the end of the line");
        }
    }
}

/* Go to the next line. @return 0 if there is none */
static int next_line(trace_text_t *text, const char *end)
{
    const char *begin = text->end;

    /* Each line but the first one begins after the newline character that ends
     * the line before */
    begin += (text->number > 0) && (begin < end);
    if (begin >= end) {
        return 0;
    }

    text->next = begin;
    text->end  = memchr(begin, '\n', end - begin);
    if (text->end == NULL) {
        text->end = end;
    }
    ++text->number;
    return 1;
}

/* Go to the first line with a token, and to this token.
 * @return the length of the line from there on; 0: there is no such line */
static size_t first_line(trace_text_t *text, const char *end)
{
    size_t length = 0;

    while ((length == 0) && next_line(text, end)) {
        if (trace_text_has_token(text)) {
            length = text->end - text->next;
        }
    }

    return length;
}

static void read_header(trace_text_t *text, const char *end)
{
    static const char header[] = TRACE_TEXT_HEADER;
    size_t length              = first_line(text, end);
    const char *name           = text->builder->source.name;

    /* A file without this start is no trace, rather than a bad one */
    if ((length < strlen(header)) ||
        (memcmp(text->next, header, strlen(header)) != 0)) {
        ucs_error("%s: not a trace: expected the line '%s%u', or the binary "
                  "form", name, header, UCS_RCACHE_TRACE_VERSION);
        text->status = UCS_ERR_UNSUPPORTED;
        return;
    }

    text->next   += strlen(header);
    text->version = trace_text_number(text, "the version of the form");
    if ((text->status == UCS_OK) &&
        ((text->version == 0) || (text->version > UCS_RCACHE_TRACE_VERSION))) {
        ucs_error("%s: a trace of version %lu; accepted are versions up to %u",
                  name, (unsigned long)text->version, UCS_RCACHE_TRACE_VERSION);
        text->status = UCS_ERR_UNSUPPORTED;
    }
    end_line(text);
}

int trace_is_text(const void *data, size_t size)
{
    static const char header[] = TRACE_TEXT_HEADER;

    return (size >= strlen(header)) &&
           (memcmp(data, header, strlen(header)) == 0);
}

int trace_may_be_text(const void *data, size_t size)
{
    static const char header[] = TRACE_TEXT_HEADER;
    const char *end            = UCS_PTR_BYTE_OFFSET(data, size);
    trace_text_t text          = { .end = data };
    size_t length              = first_line(&text, end);

    return ((length >= strlen(header)) || (text.end == end)) &&
           (memcmp(text.next, header, ucs_min(length, strlen(header))) == 0);
}

ucs_status_t trace_read_text(trace_builder_t *builder, const void *data,
                             size_t size)
{
    const char *end   = UCS_PTR_BYTE_OFFSET(data, size);
    trace_text_t text = { .builder = builder, .end = data };

    read_header(&text, end);
    while ((text.status == UCS_OK) && next_line(&text, end)) {
        if (trace_text_has_token(&text)) {
            trace_text_token(&text, "");
            if (text.status == UCS_OK) {
                read_record(&text);
            }
            end_line(&text);
        }
    }

    return text.status;
}
