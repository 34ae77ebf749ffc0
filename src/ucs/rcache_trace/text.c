/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "build.h"
#include "fields.h"
#include "token.h"

#include <ucs/debug/log_def.h>

#include <inttypes.h>
#include <string.h>

#define TEXT_TIME \
    "a time in seconds, such as 0.25 or 1e-6, or with a unit (40us, 3ms, " \
    "250ns)"
#define TEXT_NUMBER  "a number from 0 to 18446744073709551615 (or 0x...)"
#define TEXT_ADDRESS "an address, such as 0x7f0012340000"


typedef struct text {
    ucs_rcache_trace_builder_t *builder;
    ucs_rcache_trace_line_t    line;
} text_t;


static ucs_status_t text_number(text_t *text, const char *expected,
                                uint64_t *value_p)
{
    ucs_status_t status;

    status = ucs_rcache_trace_next_token(&text->line, expected);
    if (status != UCS_OK) {
        return status;
    }

    return ucs_rcache_trace_parse_number(text->line.token, UINT64_MAX,
                                         value_p) ?
           UCS_OK :
           ucs_rcache_trace_unexpected(&text->line, text->line.token, expected);
}

static ucs_status_t text_size(text_t *text, uint64_t *value_p)
{
    static const char *expected = "a length in bytes, such as 4096 or 64K";
    ucs_status_t status;

    status = ucs_rcache_trace_next_token(&text->line, expected);
    if (status != UCS_OK) {
        return status;
    }

    return ucs_rcache_trace_parse_size(text->line.token, value_p) ?
           UCS_OK :
           ucs_rcache_trace_unexpected(&text->line, text->line.token, expected);
}

static ucs_status_t text_time(text_t *text, uint64_t *value_p)
{
    ucs_status_t status;

    status = ucs_rcache_trace_next_token(&text->line, TEXT_TIME);
    if (status != UCS_OK) {
        return status;
    }

    return ucs_rcache_trace_parse_time(text->line.token, value_p) ?
           UCS_OK :
           ucs_rcache_trace_unexpected(&text->line, text->line.token,
                                       TEXT_TIME);
}

/* The token, until the next one is read */
static ucs_status_t text_string(text_t *text, const char *expected,
                                ucs_rcache_trace_string_t *string)
{
    ucs_status_t status;

    status         = ucs_rcache_trace_next_token(&text->line, expected);
    string->data   = text->line.token;
    string->length = text->line.length;
    return status;
}

static ucs_status_t text_end(text_t *text)
{
    ucs_status_t status;

    if (!ucs_rcache_trace_has_token(&text->line)) {
        return UCS_OK;
    }

    status = ucs_rcache_trace_next_token(&text->line, "");
    if (status != UCS_OK) {
        return status;
    }

    return ucs_rcache_trace_unexpected(&text->line, text->line.token,
                                       "the end of the line");
}


/* "whole, pieces or last-resort" */
static void text_list_names(const ucs_rcache_trace_field_t *field, char *list,
                            size_t max)
{
    size_t length = 0;
    unsigned i;

    for (i = 0; (i < field->num_names) && (length < max); ++i) {
        length += snprintf(list + length, max - length, "%s%s",
                           (i == 0)                    ? "" :
                           (i == field->num_names - 1) ? " or " : ", ",
                           field->names[i]);
    }
}

static int text_find_name(const ucs_rcache_trace_field_t *field,
                          const char *name, size_t length, uint64_t *index_p)
{
    unsigned i;

    for (i = 0; i < field->num_names; ++i) {
        if ((strlen(field->names[i]) == length) &&
            (memcmp(field->names[i], name, length) == 0)) {
            *index_p = i;
            return 1;
        }
    }

    return 0;
}

/* Names with commas between them */
static int text_parse_set(const ucs_rcache_trace_field_t *field,
                          const char *value, uint64_t *set_p)
{
    size_t length;
    uint64_t bit;

    *set_p = 0;
    for (;;) {
        length = strcspn(value, ",");
        if (!text_find_name(field, value, length, &bit)) {
            return 0;
        }

        *set_p |= 1ul << bit;
        if (value[length] == '\0') {
            return 1;
        }
        value += length + 1;
    }
}

static int text_parse_value(const ucs_rcache_trace_field_t *field,
                            const char *value, uint64_t *value_p)
{
    switch (field->style) {
    case UCS_RCACHE_TRACE_TIME:
    case UCS_RCACHE_TRACE_SPAN:
        return ucs_rcache_trace_parse_time(value, value_p);
    case UCS_RCACHE_TRACE_NAME:
        return text_find_name(field, value, strlen(value), value_p);
    case UCS_RCACHE_TRACE_SET:
        return text_parse_set(field, value, value_p);
    default:
        return ucs_rcache_trace_parse_number(
                value, ucs_rcache_trace_field_max(field), value_p);
    }
}

static ucs_status_t text_bad_value(text_t *text,
                                   const ucs_rcache_trace_field_t *field)
{
    char expected[160];
    size_t length = 0;

    switch (field->style) {
    case UCS_RCACHE_TRACE_TIME:
    case UCS_RCACHE_TRACE_SPAN:
        snprintf(expected, sizeof(expected), "%s", TEXT_TIME);
        break;
    case UCS_RCACHE_TRACE_SET:
        length = snprintf(expected, sizeof(expected), "one or more (a,b) of ");
        /* Fall through */
    case UCS_RCACHE_TRACE_NAME:
        text_list_names(field, expected + length, sizeof(expected) - length);
        break;
    default:
        snprintf(expected, sizeof(expected),
                 "a number from 0 to %" PRIu64 " (or 0x...)",
                 ucs_rcache_trace_field_max(field));
        break;
    }

    return ucs_rcache_trace_unexpected(&text->line, text->line.token, expected);
}

static ucs_status_t text_unknown_field(text_t *text, unsigned has)
{
    char expected[160];
    size_t length = 0;
    unsigned i;

    for (i = 0; i < UCS_RCACHE_TRACE_NUM_FIELDS; ++i) {
        if (ucs_rcache_trace_fields[i].part & has) {
            length += snprintf(expected + length, sizeof(expected) - length,
                               "%s%s=", (length == 0) ? "" : ", ",
                               ucs_rcache_trace_fields[i].name);
        }
    }

    return (length == 0) ?
           ucs_rcache_trace_unexpected(&text->line, text->line.token,
                                       "the end of the line") :
           ucs_rcache_trace_unexpected(&text->line, text->line.token, expected);
}

/* NAME=VALUE. @a given: bits of the fields the line has had. */
static ucs_status_t text_field(text_t *text, ucs_rcache_pred_event_t *event,
                               unsigned *given)
{
    const ucs_rcache_trace_field_t *field = ucs_rcache_trace_fields;
    unsigned has      = ucs_rcache_trace_types[event->type].has;
    const char *token = text->line.token;
    size_t length     = strcspn(token, "=");
    uint64_t value;
    unsigned i;

    for (i = 0; i < UCS_RCACHE_TRACE_NUM_FIELDS; ++i, ++field) {
        if ((field->part & has) && (strlen(field->name) == length) &&
            (token[length] == '=') &&
            (memcmp(field->name, token, length) == 0)) {
            break;
        }
    }

    if (i == UCS_RCACHE_TRACE_NUM_FIELDS) {
        return text_unknown_field(text, has);
    }

    if (*given & (1u << i)) {
        return ucs_rcache_trace_unexpected(&text->line, token,
                                           "each only once");
    }

    if (!text_parse_value(field, token + length + 1, &value)) {
        return text_bad_value(text, field);
    }

    *given |= 1u << i;
    ucs_rcache_trace_field_set(field, event, value);
    return UCS_OK;
}

static ucs_status_t text_range(text_t *text, ucs_rcache_pred_event_t *event)
{
    ucs_status_t status;

    status = text_number(text, TEXT_ADDRESS, &event->address);
    return (status == UCS_OK) ? text_size(text, &event->length) : status;
}

/* The region of the end of a use, by address: there is one before the fields */
static ucs_status_t text_end_address(text_t *text,
                                     ucs_rcache_pred_event_t *event,
                                     unsigned *open)
{
    const char *next = text->line.next;
    ucs_status_t status;

    status = ucs_rcache_trace_next_token(&text->line,
                                         TEXT_ADDRESS " or id=NUMBER");
    if (status != UCS_OK) {
        return status;
    }

    if (strchr(text->line.token, '=') != NULL) {
        text->line.next = next;
        return UCS_OK;
    }

    *open = UCS_RCACHE_TRACE_AT_ADDR | UCS_RCACHE_TRACE_NO_ID;
    return ucs_rcache_trace_parse_number(text->line.token, UINT64_MAX,
                                         &event->address) ?
           UCS_OK :
           ucs_rcache_trace_unexpected(&text->line, text->line.token,
                                       TEXT_ADDRESS " or id=NUMBER");
}

/* The first of the fields, see ucs_rcache_trace_fields */
#define TEXT_GIVEN_ID 1u

static ucs_status_t text_check_id(text_t *text,
                                  const ucs_rcache_pred_event_t *event,
                                  unsigned given, unsigned *open)
{
    int is_end = (event->type == UCS_RCACHE_PRED_EVENT_USE_END);

    if (is_end && !(given & TEXT_GIVEN_ID) == !*open) {
        return ucs_rcache_trace_builder_error(
                text->builder, text->line.number, "the end of a use: expected "
                "either an address or id=NUMBER");
    }

    if (!is_end && !(given & TEXT_GIVEN_ID)) {
        *open = UCS_RCACHE_TRACE_NO_ID;
    }

    return UCS_OK;
}

static ucs_status_t text_event(text_t *text, uint8_t type)
{
    unsigned has                  = ucs_rcache_trace_types[type].has;
    ucs_rcache_pred_event_t event = { .type = type };
    unsigned given                = 0;
    unsigned open                 = 0;
    ucs_status_t status;

    status = text_time(text, &event.time);
    if ((status == UCS_OK) && (has & UCS_RCACHE_TRACE_HAS_RANGE)) {
        status = text_range(text, &event);
    } else if (status == UCS_OK) {
        status = text_end_address(text, &event, &open);
    }

    while ((status == UCS_OK) && ucs_rcache_trace_has_token(&text->line)) {
        status = ucs_rcache_trace_next_token(&text->line, "NAME=VALUE");
        if (status == UCS_OK) {
            status = text_field(text, &event, &given);
        }
    }

    if ((status == UCS_OK) && (has & UCS_RCACHE_TRACE_HAS_ID)) {
        status = text_check_id(text, &event, given, &open);
    }

    return (status == UCS_OK) ?
           ucs_rcache_trace_build_event(text->builder, &event,
                                        text->line.number, open) :
           status;
}

static ucs_status_t text_meta(text_t *text)
{
    char key_buffer[UCS_RCACHE_TRACE_MAX_STRING];
    ucs_rcache_trace_string_t key, value;
    ucs_status_t status;

    status = text_string(text, "a key and a value", &key);
    if (status != UCS_OK) {
        return status;
    }

    key.data = memcpy(key_buffer, key.data, key.length);
    status   = text_string(text, "a value", &value);
    return (status == UCS_OK) ?
           ucs_rcache_trace_build_meta(text->builder, &key, &value) : status;
}

static ucs_status_t text_domain(text_t *text)
{
    ucs_rcache_trace_string_t name;
    ucs_status_t status;
    uint64_t number;

    status = text_number(text, TEXT_NUMBER, &number);
    if (status == UCS_OK) {
        status = text_string(text, "a name", &name);
    }

    return (status == UCS_OK) ?
           ucs_rcache_trace_build_domain(text->builder, number, &name,
                                         text->line.number) :
           status;
}

static ucs_status_t text_site(text_t *text)
{
    ucs_rcache_trace_site_t site = { 0 };
    ucs_status_t status;

    status = text_number(text, TEXT_ADDRESS " (caller)", &site.caller);
    if (status == UCS_OK) {
        status = text_number(text, TEXT_ADDRESS " (stack)", &site.stack);
    }

    while ((status == UCS_OK) && ucs_rcache_trace_has_token(&text->line)) {
        if (site.num_frames == UCS_RCACHE_TRACE_MAX_FRAMES) {
            return ucs_rcache_trace_builder_error(
                    text->builder, text->line.number, "a site of more than %u "
                    "frames", UCS_RCACHE_TRACE_MAX_FRAMES);
        }
        status = text_number(text, TEXT_ADDRESS,
                             &site.frames[site.num_frames++]);
    }

    return (status == UCS_OK) ?
           ucs_rcache_trace_build_site(text->builder, &site) : status;
}

static ucs_status_t text_build_id(text_t *text,
                                  ucs_rcache_trace_module_t *module)
{
    static const char *expected = "a build ID, an even number of up to 64 "
                                  "hexadecimal digits";
    ucs_status_t status;

    if (!ucs_rcache_trace_has_token(&text->line)) {
        return UCS_OK;
    }

    status = ucs_rcache_trace_next_token(&text->line, expected);
    if (status != UCS_OK) {
        return status;
    }

    return ucs_rcache_trace_parse_bytes(text->line.token, module->build_id,
                                        UCS_RCACHE_TRACE_MAX_BUILD_ID,
                                        &module->build_id_length) ?
           UCS_OK :
           ucs_rcache_trace_unexpected(&text->line, text->line.token, expected);
}

static ucs_status_t text_module(text_t *text)
{
    char path_buffer[UCS_RCACHE_TRACE_MAX_STRING];
    ucs_rcache_trace_module_t module = { 0 };
    ucs_rcache_trace_string_t path;
    ucs_status_t status;

    status = text_number(text, TEXT_ADDRESS " (start)", &module.start);
    if (status == UCS_OK) {
        status = text_number(text, TEXT_ADDRESS " (end)", &module.end);
    }
    if (status == UCS_OK) {
        status = text_number(text, TEXT_NUMBER, &module.bias);
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
           ucs_rcache_trace_build_module(text->builder, &module, &path) :
           status;
}

static ucs_status_t text_counter(text_t *text)
{
    char name_buffer[UCS_RCACHE_TRACE_MAX_STRING];
    ucs_rcache_trace_string_t name;
    ucs_status_t status;
    uint64_t value;

    status = text_string(text, "a name and a number", &name);
    if (status != UCS_OK) {
        return status;
    }

    name.data = memcpy(name_buffer, name.data, name.length);
    status    = text_number(text, TEXT_NUMBER, &value);
    return (status == UCS_OK) ?
           ucs_rcache_trace_build_counter(text->builder, &name, value) : status;
}

static ucs_status_t text_lost(text_t *text)
{
    ucs_status_t status;
    uint64_t count;

    status = text_number(text, TEXT_NUMBER, &count);
    if (status == UCS_OK) {
        ucs_rcache_trace_build_lost(text->builder, count);
    }
    return status;
}

static ucs_status_t text_truncated(text_t *text)
{
    text->builder->trace->truncated = 1;
    return UCS_OK;
}

/* What is said by a line that is no event */
static const struct {
    const char   *name;
    ucs_status_t (*func)(text_t *text);
} text_records[] = {
    {"meta", text_meta},     {"domain", text_domain},
    {"site", text_site},     {"module", text_module},
    {"lost", text_lost},     {"counter", text_counter},
    {"truncated", text_truncated}
};

static ucs_status_t text_record(text_t *text)
{
    const char *name = text->line.token;
    size_t i;

    for (i = 0; i < UCS_RCACHE_PRED_EVENT_LAST; ++i) {
        if (!strcmp(name, ucs_rcache_trace_types[i].name)) {
            return text_event(text, i);
        }
    }

    for (i = 0; i < ucs_static_array_size(text_records); ++i) {
        if (!strcmp(name, text_records[i].name)) {
            return text_records[i].func(text);
        }
    }

    return ucs_rcache_trace_unexpected(
            &text->line, name, "begin, end, reg, dereg, deadline, unmet, unmap, "
            "meta, domain, site, module, counter, lost or truncated");
}

static ucs_status_t text_line(text_t *text)
{
    ucs_status_t status;

    if (!ucs_rcache_trace_has_token(&text->line)) {
        return UCS_OK;
    }

    status = ucs_rcache_trace_next_token(&text->line, "");
    if (status == UCS_OK) {
        status = text_record(text);
    }
    return (status == UCS_OK) ? text_end(text) : status;
}

/* @return whether there is a line */
static int text_next_line(text_t *text, const char *end)
{
    const char *begin = text->line.end;

    /* Lines after the first one begin with the end of the one before */
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

/* The first line that is more than a comment. A file that has another one is no
 * bad trace: it is none */
static ucs_status_t text_header(text_t *text, const char *end)
{
    static const char header[] = UCS_RCACHE_TRACE_HEADER;
    size_t length              = 0;
    ucs_status_t status;
    uint64_t version;

    while ((length == 0) && text_next_line(text, end)) {
        if (ucs_rcache_trace_has_token(&text->line)) {
            length = text->line.end - text->line.next;
        }
    }

    if ((length < strlen(header)) ||
        (memcmp(text->line.next, header, strlen(header)) != 0)) {
        ucs_error("%s: not a trace: expected the line '%s%u', or the binary "
                  "form", text->builder->name, header,
                  UCS_RCACHE_TRACE_VERSION);
        return UCS_ERR_UNSUPPORTED;
    }

    text->line.next += strlen(header);
    status = text_number(text, "the version of the form", &version);
    if (status != UCS_OK) {
        return status;
    }

    return ucs_rcache_trace_check_version(text->builder, version);
}

ucs_status_t ucs_rcache_trace_read_text(ucs_rcache_trace_builder_t *builder,
                                        const void *data, size_t size)
{
    const char *end = UCS_PTR_BYTE_OFFSET(data, size);
    text_t text     = {
        .builder      = builder,
        .line.builder = builder,
        .line.end     = data
    };
    ucs_status_t status;

    status = text_header(&text, end);
    if (status == UCS_OK) {
        status = text_end(&text);
    }

    while ((status == UCS_OK) && text_next_line(&text, end)) {
        status = text_line(&text);
    }

    return status;
}
