/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "text.h"

#include <inttypes.h>
#include <string.h>

#define EXPECT_TIME \
    "a time in seconds, such as 0.25 or 1e-6, or with a unit (40us, 3ms, " \
    "250ns)"
#define EXPECT_SIZE   "a length in bytes, such as 4096 or 64K"
#define EXPECT_REGION TRACE_EXPECT_ADDRESS " or id=NUMBER"

/* The bit of the id, the first of trace_fields, in event_line_t::given */
#define GIVEN_ID 1u


/* A line that is read */
typedef struct event_line {
    trace_text_t            *text;
    ucs_rcache_pred_event_t event;
    unsigned                has;   /* TRACE_HAS_xxx of its type */
    unsigned                given; /* A bit for each of trace_fields on the
                                      line */
    unsigned                open;  /* For trace_build_event() */
} event_line_t;


/* Read the next token by one of the functions that parse a word */
static uint64_t
read_value(trace_text_t *text, int (*parse)(const char*, uint64_t*),
           const char *expected)
{
    uint64_t value = 0;

    trace_text_token(text, expected);
    if ((text->status == UCS_OK) && !parse(text->token, &value)) {
        trace_text_unexpected(text, text->token, expected);
    }

    return value;
}

/* List the names that a field can have, such as "whole, pieces or last-resort" */
static void list_names(const trace_field_t *field, char *list, size_t max)
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

static int find_name(const trace_field_t *field, const char *name,
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

/* Parse names with commas between them, each of a bit */
static int
parse_set(const trace_field_t *field, const char *value, uint64_t *set_p)
{
    size_t length;
    uint64_t bit;

    *set_p = 0;
    for (;;) {
        length = strcspn(value, ",");
        if (!find_name(field, value, length, &bit)) {
            return 0;
        }

        *set_p |= 1ul << bit;
        if (value[length] == '\0') {
            return 1;
        }
        value += length + 1;
    }
}

static int
parse_value(const trace_field_t *field, const char *value, uint64_t *value_p)
{
    switch (field->style) {
    case TRACE_TIME:
    case TRACE_SPAN:
        return trace_parse_time(value, value_p);
    case TRACE_NAME:
        return find_name(field, value, strlen(value), value_p);
    case TRACE_SET:
        return parse_set(field, value, value_p);
    default:
        return trace_parse_number(value, trace_field_max(field), value_p);
    }
}

static void reject_value(trace_text_t *text, const trace_field_t *field)
{
    char expected[160];
    size_t length = 0;

    switch (field->style) {
    case TRACE_TIME:
    case TRACE_SPAN:
        snprintf(expected, sizeof(expected), "%s", EXPECT_TIME);
        break;
    case TRACE_SET:
        length = snprintf(expected, sizeof(expected), "one or more (a,b) of ");
        /* Fall through */
    case TRACE_NAME:
        list_names(field, expected + length, sizeof(expected) - length);
        break;
    default:
        snprintf(expected, sizeof(expected),
                 "a number from 0 to %" PRIu64 " (or 0x...)",
                 trace_field_max(field));
        break;
    }

    trace_text_unexpected(text, text->token, expected);
}

static void reject_field(trace_text_t *text, unsigned has)
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

    trace_text_unexpected(text, text->token,
                          (length == 0) ? "the end of the line" : expected);
}

/* Take the token apart, NAME=VALUE */
static void set_field(event_line_t *line)
{
    const trace_field_t *field = trace_fields;
    trace_text_t *text         = line->text;
    const char *token          = text->token;
    size_t length              = strcspn(token, "=");
    uint64_t value;
    unsigned i;

    for (i = 0; i < TRACE_NUM_FIELDS; ++i, ++field) {
        if ((field->part & line->has) && (strlen(field->name) == length) &&
            (token[length] == '=') &&
            (memcmp(field->name, token, length) == 0)) {
            break;
        }
    }

    if (i == TRACE_NUM_FIELDS) {
        reject_field(text, line->has);
    } else if (line->given & (1u << i)) {
        trace_text_unexpected(text, token, "each only once");
    } else if (!parse_value(field, token + length + 1, &value)) {
        reject_value(text, field);
    } else {
        line->given |= 1u << i;
        trace_field_set(field, &line->event, value);
    }
}

/* The end of a use may name its region by an address before the fields. A
 * field as the next token means no address */
static void read_end_address(event_line_t *line)
{
    trace_text_t *text = line->text;
    const char *next   = text->next;

    trace_text_token(text, EXPECT_REGION);
    if (strchr(text->token, '=') != NULL) {
        text->next = next;
    } else if (text->status == UCS_OK) {
        line->open = TRACE_AT_ADDR | TRACE_NO_ID;
        if (!trace_parse_number(text->token, UINT64_MAX,
                                &line->event.address)) {
            trace_text_unexpected(text, text->token, EXPECT_REGION);
        }
    }
}

static void check_id(event_line_t *line)
{
    if (line->event.type != UCS_RCACHE_PRED_EVENT_USE_END) {
        line->open = (line->given & GIVEN_ID) ? 0 : TRACE_NO_ID;
    } else if (!(line->given & GIVEN_ID) == !line->open) {
        line->text->status = trace_error(
                &line->text->builder->source, line->text->number,
                "the end of a use: expected either an address or id=NUMBER");
    }
}

void trace_text_event(trace_text_t *text, uint8_t type)
{
    event_line_t line = {
        .text  = text,
        .event = { .type = type },
        .has   = trace_types[type].has
    };

    line.event.time = read_value(text, trace_parse_time, EXPECT_TIME);
    if (line.has & TRACE_HAS_RANGE) {
        line.event.address = trace_text_number(text, TRACE_EXPECT_ADDRESS);
        line.event.length  = read_value(text, trace_parse_size, EXPECT_SIZE);
    } else {
        read_end_address(&line);
    }

    while (trace_text_has_token(text)) {
        trace_text_token(text, "NAME=VALUE");
        if (text->status == UCS_OK) {
            set_field(&line);
        }
    }

    if ((text->status == UCS_OK) && (line.has & TRACE_HAS_ID)) {
        check_id(&line);
    }

    if (text->status == UCS_OK) {
        text->status = trace_build_event(text->builder, &line.event,
                                         text->number, line.open);
    }
}
