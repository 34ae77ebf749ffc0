/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "text.h"
#include "number.h"
#include "text_event.h"

#include <trace/content/fields.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <string.h>


/* Read a token as a string, which is valid until the next token is read. */
static ucs_status_t text_string(trace_text_t *text, const char *expected,
                                trace_string_t *string)
{
    ucs_status_t status;

    status         = trace_next_token(&text->line, expected);
    string->data   = text->line.token;
    string->length = text->line.length;
    return status;
}

static ucs_status_t text_meta(trace_text_t *text)
{
    char key_buffer[UCS_RCACHE_TRACE_MAX_STRING];
    trace_string_t key, value;
    ucs_status_t status;

    status = text_string(text, "a key and a value", &key);
    if (status != UCS_OK) {
        return status;
    }

    key.data = memcpy(key_buffer, key.data, key.length);
    status   = text_string(text, "a value", &value);
    return (status == UCS_OK) ?
           trace_build_meta(text->builder, &key, &value) : status;
}

static ucs_status_t text_domain(trace_text_t *text)
{
    trace_string_t name;
    ucs_status_t status;
    uint64_t number;

    status = trace_next_number(&text->line, TRACE_EXPECT_NUMBER, &number);
    if (status == UCS_OK) {
        status = text_string(text, "a name", &name);
    }

    return (status == UCS_OK) ?
           trace_build_domain(text->builder, number, &name, text->line.number) :
           status;
}

static ucs_status_t text_site(trace_text_t *text)
{
    ucs_rcache_trace_site_t site = { 0 };
    ucs_status_t status;

    status = trace_next_number(&text->line, TRACE_EXPECT_ADDRESS " (caller)",
                               &site.caller);
    if (status == UCS_OK) {
        status = trace_next_number(&text->line, TRACE_EXPECT_ADDRESS " (stack)",
                                   &site.stack);
    }

    while ((status == UCS_OK) && trace_has_token(&text->line)) {
        if (site.num_frames == UCS_RCACHE_TRACE_MAX_FRAMES) {
            return trace_error(
                    &text->builder->source, text->line.number,
                    "a site of more than %u frames",
                    UCS_RCACHE_TRACE_MAX_FRAMES);
        }
        status = trace_next_number(&text->line, TRACE_EXPECT_ADDRESS,
                                   &site.frames[site.num_frames++]);
    }

    return (status == UCS_OK) ?
           trace_build_site(text->builder, &site) : status;
}

static ucs_status_t text_build_id(trace_text_t *text,
                                  ucs_rcache_trace_module_t *module)
{
    static const char *expected = "a build ID, an even number of up to 64 "
                                  "hexadecimal digits";
    ucs_status_t status;

    if (!trace_has_token(&text->line)) {
        return UCS_OK;
    }

    status = trace_next_token(&text->line, expected);
    if (status != UCS_OK) {
        return status;
    }

    return trace_parse_bytes(text->line.token, module->build_id,
                             UCS_RCACHE_TRACE_MAX_BUILD_ID,
                             &module->build_id_length) ?
           UCS_OK :
           trace_unexpected(&text->line, text->line.token, expected);
}

static ucs_status_t text_module(trace_text_t *text)
{
    char path_buffer[UCS_RCACHE_TRACE_MAX_STRING];
    ucs_rcache_trace_module_t module = { 0 };
    trace_string_t path;
    ucs_status_t status;

    status = trace_next_number(&text->line, TRACE_EXPECT_ADDRESS " (start)",
                               &module.start);
    if (status == UCS_OK) {
        status = trace_next_number(&text->line, TRACE_EXPECT_ADDRESS " (end)",
                                   &module.end);
    }
    if (status == UCS_OK) {
        status = trace_next_number(&text->line, TRACE_EXPECT_NUMBER,
                                   &module.bias);
    }
    if (status == UCS_OK) {
        status = text_string(text, "a path", &path);
    }
    if (status != UCS_OK) {
        return status;
    }

    path.data = memcpy(path_buffer, path.data, path.length);
    status    = text_build_id(text, &module);
    return (status == UCS_OK) ?
           trace_build_module(text->builder, &module, &path) : status;
}

static ucs_status_t text_counter(trace_text_t *text)
{
    char name_buffer[UCS_RCACHE_TRACE_MAX_STRING];
    trace_string_t name;
    ucs_status_t status;
    uint64_t value;

    status = text_string(text, "a name and a number", &name);
    if (status != UCS_OK) {
        return status;
    }

    name.data = memcpy(name_buffer, name.data, name.length);
    status    = trace_next_number(&text->line, TRACE_EXPECT_NUMBER, &value);
    return (status == UCS_OK) ?
           trace_build_counter(text->builder, &name, value) : status;
}

static ucs_status_t text_lost(trace_text_t *text)
{
    ucs_status_t status;
    uint64_t count;

    status = trace_next_number(&text->line, TRACE_EXPECT_NUMBER, &count);
    if (status == UCS_OK) {
        trace_build_lost(text->builder, count);
    }
    return status;
}

static ucs_status_t text_sends(trace_text_t *text)
{
    ucs_reuse_sends_t sends = { 0 };
    ucs_status_t status;

    status = trace_next_number(&text->line, TRACE_EXPECT_ADDRESS,
                               &sends.address);
    if (status == UCS_OK) {
        status = trace_next_number(&text->line, TRACE_EXPECT_NUMBER " (length)",
                                   &sends.length);
    }
    if (status == UCS_OK) {
        status = trace_next_number(&text->line, TRACE_EXPECT_NUMBER " (sends)",
                                   &sends.count);
    }
    if ((status == UCS_OK) && trace_has_token(&text->line)) {
        status = trace_next_number(&text->line, TRACE_EXPECT_NUMBER " (copied)",
                                   &sends.copied);
    }

    return (status == UCS_OK) ?
           trace_build_sends(text->builder, &sends, text->line.number) : status;
}

static ucs_status_t text_truncated(trace_text_t *text)
{
    text->builder->trace->truncated = 1;
    return UCS_OK;
}

/* The lines that are no events, by their first word */
static const struct {
    const char   *name;
    ucs_status_t (*func)(trace_text_t *text);
    unsigned     version; /* The first one that has them */
} text_records[] = {
    {"meta", text_meta, 1},
    {"domain", text_domain, 1},
    {"site", text_site, 1},
    {"module", text_module, 1},
    {"lost", text_lost, 1},
    {"counter", text_counter, 1},
    {"sends", text_sends, UCS_RCACHE_TRACE_VERSION_SENDS},
    {"truncated", text_truncated, 1}
};

static ucs_status_t text_record(trace_text_t *text)
{
    const char *name = text->line.token;
    size_t i;

    for (i = 0; i < UCS_RCACHE_PRED_EVENT_LAST; ++i) {
        if (!strcmp(name, trace_types[i].name) &&
            (text->version >= trace_types[i].version)) {
            return trace_text_event(text, i);
        }
    }

    for (i = 0; i < ucs_static_array_size(text_records); ++i) {
        if (!strcmp(name, text_records[i].name) &&
            (text->version >= text_records[i].version)) {
            return text_records[i].func(text);
        }
    }

    if (!strcmp(name, TRACE_TEXT_NAME)) {
        return trace_error(&text->builder->source, text->line.number,
                           "'%s': expected no second trace in a file; "
                           "'ucx_predreg dump -o FOLDER' writes one for each",
                           name);
    }

    return trace_unexpected(
            &text->line, name, "begin, end, reg, dereg, deadline, unmet, "
            "unmap, map (version 3), meta, domain, site, module, sends (version "
            "2), counter, lost or truncated");
}

static ucs_status_t text_line(trace_text_t *text)
{
    ucs_status_t status;

    if (!trace_has_token(&text->line)) {
        return UCS_OK;
    }

    status = trace_next_token(&text->line, "");
    if (status == UCS_OK) {
        status = text_record(text);
    }
    return (status == UCS_OK) ? trace_end_line(&text->line) : status;
}

/* Go to the next line. @return 0 if there is none */
static int text_next_line(trace_text_t *text, const char *end)
{
    const char *begin = text->line.end;

    /* Each line but the first one begins after the newline character that ends
     * the line before */
    begin += (text->line.number > 0) && (begin < end);
    if (begin >= end) {
        return 0;
    }

    text->line.next = begin;
    text->line.end  = memchr(begin, '\n', end - begin);
    if (text->line.end == NULL) {
        text->line.end = end;
    }
    ++text->line.number;
    return 1;
}

/* Go to the first line that is more than a comment, and to its first token.
 * @return the length of the line from there on; 0: there is no such line. */
static size_t text_first_line(trace_text_t *text, const char *end)
{
    size_t length = 0;

    while ((length == 0) && text_next_line(text, end)) {
        if (trace_has_token(&text->line)) {
            length = text->line.end - text->line.next;
        }
    }

    return length;
}

/* Read the first line that is more than a comment. If it is not the header, the
 * file is no trace at all, which is another error than a bad trace. */
static ucs_status_t text_header(trace_text_t *text, const char *end)
{
    static const char header[] = TRACE_TEXT_HEADER;
    size_t length              = text_first_line(text, end);
    ucs_status_t status;

    if ((length < strlen(header)) ||
        (memcmp(text->line.next, header, strlen(header)) != 0)) {
        ucs_error("%s: not a trace: expected the line '%s%u', or the binary "
                  "form", text->builder->source.name, header,
                  UCS_RCACHE_TRACE_VERSION);
        return UCS_ERR_UNSUPPORTED;
    }

    text->line.next += strlen(header);
    status           = trace_next_number(&text->line, "the version of the form",
                                         &text->version);
    if (status != UCS_OK) {
        return status;
    }

    return trace_check_version(&text->builder->source, text->version);
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
    trace_text_t text          = { .line.end = data };
    size_t length              = text_first_line(&text, end);

    return ((length >= strlen(header)) || (text.line.end == end)) &&
           (memcmp(text.line.next, header,
                   ucs_min(length, strlen(header))) == 0);
}

ucs_status_t trace_read_text(trace_builder_t *builder, const void *data,
                             size_t size)
{
    const char *end   = UCS_PTR_BYTE_OFFSET(data, size);
    trace_text_t text = {
        .builder     = builder,
        .line.source = &builder->source,
        .line.end    = data
    };
    ucs_status_t status;

    status = text_header(&text, end);
    if (status == UCS_OK) {
        status = trace_end_line(&text.line);
    }

    while ((status == UCS_OK) && text_next_line(&text, end)) {
        status = text_line(&text);
    }

    return status;
}
