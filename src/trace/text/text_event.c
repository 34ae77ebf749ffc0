/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "text_event.h"
#include "number.h"

#include <trace/content/fields.h>

#include <inttypes.h>
#include <string.h>

#define EVENT_TIME \
    "a time in seconds, such as 0.25 or 1e-6, or with a unit (40us, 3ms, " \
    "250ns)"
#define EVENT_REGION TRACE_EXPECT_ADDRESS " or id=NUMBER"

/* The bit of the id, which is the first of trace_fields, among the fields that
 * a line has had */
#define EVENT_GIVEN_ID 1u


static ucs_status_t event_size(trace_text_t *text, uint64_t *value_p)
{
    static const char *expected = "a length in bytes, such as 4096 or 64K";
    ucs_status_t status;

    status = trace_next_token(&text->line, expected);
    if (status != UCS_OK) {
        return status;
    }

    return trace_parse_size(text->line.token, value_p) ?
           UCS_OK :
           trace_unexpected(&text->line, text->line.token, expected);
}

static ucs_status_t event_time(trace_text_t *text, uint64_t *value_p)
{
    ucs_status_t status;

    status = trace_next_token(&text->line, EVENT_TIME);
    if (status != UCS_OK) {
        return status;
    }

    return trace_parse_time(text->line.token, value_p) ?
           UCS_OK :
           trace_unexpected(&text->line, text->line.token, EVENT_TIME);
}

/* Write the names a field can have, such as "whole, pieces or last-resort". */
static void event_list_names(const trace_field_t *field, char *list, size_t max)
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

static int event_find_name(const trace_field_t *field, const char *name,
                           size_t length, uint64_t *index_p)
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

/* Names with commas between them stand for the bits they name. */
static int event_parse_set(const trace_field_t *field, const char *value,
                           uint64_t *set_p)
{
    size_t length;
    uint64_t bit;

    *set_p = 0;
    for (;;) {
        length = strcspn(value, ",");
        if (!event_find_name(field, value, length, &bit)) {
            return 0;
        }

        *set_p |= 1ul << bit;
        if (value[length] == '\0') {
            return 1;
        }
        value += length + 1;
    }
}

static int event_parse_value(const trace_field_t *field, const char *value,
                             uint64_t *value_p)
{
    switch (field->style) {
    case TRACE_TIME:
    case TRACE_SPAN:
        return trace_parse_time(value, value_p);
    case TRACE_NAME:
        return event_find_name(field, value, strlen(value), value_p);
    case TRACE_SET:
        return event_parse_set(field, value, value_p);
    default:
        return trace_parse_number(value, trace_field_max(field), value_p);
    }
}

static ucs_status_t event_bad_value(trace_text_t *text,
                                    const trace_field_t *field)
{
    char expected[160];
    size_t length = 0;

    switch (field->style) {
    case TRACE_TIME:
    case TRACE_SPAN:
        snprintf(expected, sizeof(expected), "%s", EVENT_TIME);
        break;
    case TRACE_SET:
        length = snprintf(expected, sizeof(expected), "one or more (a,b) of ");
        /* Fall through */
    case TRACE_NAME:
        event_list_names(field, expected + length, sizeof(expected) - length);
        break;
    default:
        snprintf(expected, sizeof(expected),
                 "a number from 0 to %" PRIu64 " (or 0x...)",
                 trace_field_max(field));
        break;
    }

    return trace_unexpected(&text->line, text->line.token, expected);
}

static ucs_status_t event_unknown_field(trace_text_t *text, unsigned has)
{
    char expected[160];
    size_t length = 0;
    unsigned i;

    for (i = 0; i < TRACE_NUM_FIELDS; ++i) {
        if (trace_fields[i].part & has) {
            length += snprintf(expected + length, sizeof(expected) - length,
                               "%s%s=", (length == 0) ? "" : ", ",
                               trace_fields[i].name);
        }
    }

    return (length == 0) ?
           trace_unexpected(&text->line, text->line.token,
                            "the end of the line") :
           trace_unexpected(&text->line, text->line.token, expected);
}

/* Read NAME=VALUE. @a given has the bits of the fields that the line has
 * had. */
static ucs_status_t event_field(trace_text_t *text,
                                ucs_rcache_pred_event_t *event, unsigned *given)
{
    const trace_field_t *field = trace_fields;
    unsigned has               = trace_types[event->type].has;
    const char *token          = text->line.token;
    size_t length              = strcspn(token, "=");
    uint64_t value;
    unsigned i;

    for (i = 0; i < TRACE_NUM_FIELDS; ++i, ++field) {
        if ((field->part & has) && (strlen(field->name) == length) &&
            (token[length] == '=') &&
            (memcmp(field->name, token, length) == 0)) {
            break;
        }
    }

    if (i == TRACE_NUM_FIELDS) {
        return event_unknown_field(text, has);
    }

    if (*given & (1u << i)) {
        return trace_unexpected(&text->line, token, "each only once");
    }

    if (!event_parse_value(field, token + length + 1, &value)) {
        return event_bad_value(text, field);
    }

    *given |= 1u << i;
    trace_field_set(field, event, value);
    return UCS_OK;
}

static ucs_status_t event_range(trace_text_t *text,
                                ucs_rcache_pred_event_t *event)
{
    ucs_status_t status;

    status = trace_next_number(&text->line, TRACE_EXPECT_ADDRESS,
                               &event->address);
    return (status == UCS_OK) ? event_size(text, &event->length) : status;
}

/* The end of a use may say by an address which region it is of. The address
 * stands before the fields; if the next token is a field, there is none. */
static ucs_status_t event_end_address(trace_text_t *text,
                                      ucs_rcache_pred_event_t *event,
                                      unsigned *open)
{
    const char *next = text->line.next;
    ucs_status_t status;

    status = trace_next_token(&text->line, EVENT_REGION);
    if (status != UCS_OK) {
        return status;
    }

    if (strchr(text->line.token, '=') != NULL) {
        text->line.next = next;
        return UCS_OK;
    }

    *open = TRACE_AT_ADDR | TRACE_NO_ID;
    return trace_parse_number(text->line.token, UINT64_MAX, &event->address) ?
           UCS_OK :
           trace_unexpected(&text->line, text->line.token, EVENT_REGION);
}

static ucs_status_t event_check_id(trace_text_t *text,
                                   const ucs_rcache_pred_event_t *event,
                                   unsigned given, unsigned *open)
{
    int is_end = (event->type == UCS_RCACHE_PRED_EVENT_USE_END);

    if (is_end && !(given & EVENT_GIVEN_ID) == !*open) {
        return trace_error(
                &text->builder->source, text->line.number,
                "the end of a use: expected either an address or id=NUMBER");
    }

    if (!is_end && !(given & EVENT_GIVEN_ID)) {
        *open = TRACE_NO_ID;
    }

    return UCS_OK;
}

ucs_status_t trace_text_event(trace_text_t *text, uint8_t type)
{
    unsigned has                  = trace_types[type].has;
    ucs_rcache_pred_event_t event = { .type = type };
    unsigned given                = 0;
    unsigned open                 = 0;
    ucs_status_t status;

    status = event_time(text, &event.time);
    if ((status == UCS_OK) && (has & TRACE_HAS_RANGE)) {
        status = event_range(text, &event);
    } else if (status == UCS_OK) {
        status = event_end_address(text, &event, &open);
    }

    while ((status == UCS_OK) && trace_has_token(&text->line)) {
        status = trace_next_token(&text->line, "NAME=VALUE");
        if (status == UCS_OK) {
            status = event_field(text, &event, &given);
        }
    }

    if ((status == UCS_OK) && (has & TRACE_HAS_ID)) {
        status = event_check_id(text, &event, given, &open);
    }

    return (status == UCS_OK) ?
           trace_build_event(text->builder, &event, text->line.number, open) :
           status;
}
