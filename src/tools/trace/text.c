/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "text.h"

#include <tools/base/containers.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <string.h>

/* Read the rest of a record, after the first word of its line */
static void read_record(trace_text_t *text)
{
    const char *name = text->token;
    const trace_type_t *type;

    predreg_for_each(type, trace_types, TRACE_RECORD_LAST) {
        if ((type->name != NULL) && !strcmp(name, type->name) &&
            (text->version >= type->version)) {
            trace_text_record(text, type - trace_types);
            return;
        }
    }

    if (!strcmp(name, TRACE_TEXT_NAME)) {
        trace_text_unexpected(
                text, name, "no second trace in a file; 'ucx_predreg dump -o "
                "FOLDER' writes one for each");
    } else {
        trace_text_unexpected(
                text, name, "begin, end, reg, dereg, deadline, unmet, unmap, "
                "map (version 3), meta, domain, site, module, sends (version "
                "2), counter, lost or truncated");
    }
}

/* Log an error if the line goes on with anything but a comment */
static void end_line(trace_text_t *text)
{
    if (trace_text_token(text)) {
        trace_text_unexpected(text, text->token, "the end of the line");
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
 * @return the length of the line from the token on; 0: no line has a token */
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

    /* The error for a file without the header says that the file is no trace, and not
     * that a line of a trace is wrong */
    if ((length < strlen(header)) ||
        (memcmp(text->next, header, strlen(header)) != 0)) {
        ucs_error("%s: not a trace: expected the line '%s%u', or the binary "
                  "form", name, header, UCS_RCACHE_TRACE_VERSION);
        text->status = UCS_ERR_UNSUPPORTED;
        return;
    }

    text->next += strlen(header);
    if (!trace_text_token(text) ||
        !trace_parse_number(text->token, &text->version)) {
        trace_text_unexpected(text, text->token, "the version of the form");
    } else if ((text->version == 0) ||
               (text->version > UCS_RCACHE_TRACE_VERSION)) {
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
        if (trace_text_token(&text)) {
            read_record(&text);
            end_line(&text);
        }
    }

    return text.status;
}
