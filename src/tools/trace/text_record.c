/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "text.h"

#include <tools/base/memory.h>

#include <inttypes.h>
#include <string.h>

#define EXPECT_ADDRESS "an address, such as 0x7f0012340000"
#define EXPECT_TIME \
    "a time in seconds, such as 0.25 or 1e-6, or with a unit (40us, 3ms, " \
    "250ns)"

/* What an error message says that a field accepts, by the field's type. For a field with
 * named values the message goes on with the names */
static const char *const expectations[] = {
    [TRACE_NUMBER]  = "a number",
    [TRACE_SIZE]    = "a length in bytes, such as 4096 or 64K",
    [TRACE_HEX]     = "a number",
    [TRACE_ADDRESS] = EXPECT_ADDRESS,
    [TRACE_TIME]    = EXPECT_TIME,
    [TRACE_SPAN]    = EXPECT_TIME,
    [TRACE_NAME]    = "",
    [TRACE_SET]     = "one or more (a,b) of ",
    [TRACE_STRING]  = "a string",
    [TRACE_FRAMES]  = EXPECT_ADDRESS,
    [TRACE_BYTES]   = "an even number of up to 64 hexadecimal digits"
};


/* A line that is read */
typedef struct record_line {
    trace_text_t       *text;
    const trace_type_t *type;
    trace_any_t        record;
    unsigned           given;  /* A bit for each named field on the line */
    int                has_id; /* Whether the id, the only field of form TRACE_ALWAYS,
                                  is on the line */
    unsigned           open;   /* What the line does not tell: argument open of
                                  trace_build() */
} record_line_t;


/* List the names that a field can have, such as "whole, pieces or last-resort" */
static void list_names(const trace_field_t *field, char *list, size_t max)
{
    size_t length = 0;
    unsigned i;

    for (i = 0; (i < field->max) && (length < max); ++i) {
        length += snprintf(list + length, max - length, "%s%s",
                           (i == 0)                    ? "" :
                           (i == field->max - 1) ? " or " : ", ",
                           field->names[i]);
    }
}

static int find_name(const trace_field_t *field, const char *name,
                     size_t length, uint64_t *index_p)
{
    unsigned i;

    for (i = 0; i < field->max; ++i) {
        if ((strlen(field->names[i]) == length) &&
            (memcmp(field->names[i], name, length) == 0)) {
            *index_p = i;
            return 1;
        }
    }

    return 0;
}

/* Parse a list of names with commas between the names. Each name stands for a bit of the
 * set */
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

static int parse_number(const trace_field_t *field, const char *word,
                        uint64_t *value_p)
{
    switch (field->style) {
    case TRACE_TIME:
    case TRACE_SPAN:
        return trace_parse_time(word, value_p);
    case TRACE_SIZE:
        return trace_parse_size(word, value_p);
    case TRACE_NAME:
        return find_name(field, word, strlen(word), value_p);
    case TRACE_SET:
        return parse_set(field, word, value_p);
    default:
        return trace_parse_number(word, value_p) &&
               (*value_p <= trace_field_max(field));
    }
}

static int is_named(const trace_field_t *field)
{
    return (field->form == TRACE_NAMED) || (field->form == TRACE_ALWAYS);
}

/* Log that a word is no value of a field, or that the line ends before the value (@a word
 * is NULL) */
static void reject_value(trace_text_t *text, const trace_field_t *field,
                         const char *word)
{
    char expected[192];
    size_t length;

    length = snprintf(expected, sizeof(expected), "%s",
                      expectations[field->style]);
    if (field->names != NULL) {
        list_names(field, expected + length, sizeof(expected) - length);
    } else if ((field->style == TRACE_NUMBER) || (field->style == TRACE_HEX)) {
        length += snprintf(expected + length, sizeof(expected) - length,
                           " from 0 to %" PRIu64 " (or 0x...)",
                           trace_field_max(field));
    }
    if (!is_named(field)) {
        snprintf(expected + length, sizeof(expected) - length, " (%s)",
                 field->name);
    }

    trace_text_unexpected(text, word, expected);
}

/* Take the next token of the line, and store its value in the field of the record */
static void read_value(record_line_t *line, const trace_field_t *field)
{
    trace_text_t *text = line->text;
    void *data         = UCS_PTR_BYTE_OFFSET(&line->record, field->offset);
    uint64_t value;
    int is_good = 1;

    if (!trace_text_token(text)) {
        reject_value(text, field, NULL);
        return;
    }

    switch (field->style) {
    case TRACE_STRING:
        *(char**)data = predreg_copy(text->token, strlen(text->token));
        break;
    case TRACE_FRAMES:
        is_good = trace_parse_number(text->token,
                                     (uint64_t*)data +
                                     *trace_field_count(field, &line->record));
        ++*trace_field_count(field, &line->record);
        break;
    case TRACE_BYTES:
        is_good = trace_parse_bytes(text->token, data, field->max,
                                    trace_field_count(field, &line->record));
        break;
    default:
        is_good = parse_number(field, text->token, &value);
        if (is_good) {
            trace_field_set(field, &line->record, value);
        }
        break;
    }

    if (!is_good) {
        reject_value(text, field, text->token);
    }
}

/* Read the values without names, which a reader knows by their place on the line */
static void read_placed(record_line_t *line)
{
    trace_text_t *text = line->text;
    const trace_field_t *field;

    trace_for_each_field(field, line->type) {
        if ((field->form == TRACE_PLACED) ||
            ((field->form == TRACE_OPTIONAL) && trace_text_has_token(text))) {
            read_value(line, field);
        }
        while ((field->style == TRACE_FRAMES) && trace_text_has_token(text)) {
            if (*trace_field_count(field, &line->record) == field->max) {
                text->status = trace_error(&text->builder->source, text->number,
                                           "a site of more than %u frames",
                                           field->max);
                return;
            }
            read_value(line, field);
        }
    }
}

static void reject_field(trace_text_t *text, const trace_type_t *type)
{
    char expected[160] = "the end of the line";
    size_t length      = 0;
    const trace_field_t *field;

    trace_for_each_field(field, type) {
        if (is_named(field)) {
            length += snprintf(expected + length, sizeof(expected) - length,
                               "%s%s=", (length == 0) ? "" : ", ", field->name);
        }
    }

    trace_text_unexpected(text, text->token, expected);
}

/* @return the field of a token NAME=VALUE, or NULL for another token */
static const trace_field_t *
find_field(const trace_type_t *type, const char *token)
{
    size_t length = strcspn(token, "=");
    const trace_field_t *field;

    trace_for_each_field(field, type) {
        if (is_named(field) && (strlen(field->name) == length) &&
            (token[length] == '=') &&
            (memcmp(field->name, token, length) == 0)) {
            return field;
        }
    }

    return NULL;
}

/* Store the value of a token NAME=VALUE in the field of this name */
static void set_named(record_line_t *line)
{
    trace_text_t *text         = line->text;
    const trace_field_t *field = find_field(line->type, text->token);
    unsigned bit;
    uint64_t value;

    if (field == NULL) {
        reject_field(text, line->type);
        return;
    }

    bit = UCS_BIT(field - line->type->fields);
    if (line->given & bit) {
        trace_text_unexpected(text, text->token, "each only once");
    } else if (!parse_number(field, strchr(text->token, '=') + 1, &value)) {
        reject_value(text, field, text->token);
    } else {
        line->given  |= bit;
        line->has_id |= (field->form == TRACE_ALWAYS);
        trace_field_set(field, &line->record, value);
    }
}

/* The end of a use may name its region by an address, before all fields NAME=VALUE. If
 * the next token is such a field, the line has no address */
static void read_end_address(record_line_t *line)
{
    trace_text_t *text = line->text;
    const char *next   = text->next;

    if (trace_text_token(text) && (strchr(text->token, '=') != NULL)) {
        text->next = next;
        return;
    }

    line->open = TRACE_AT_ADDR | TRACE_NO_ID;
    if (!trace_parse_number(text->token, &line->record.event.address)) {
        trace_text_unexpected(text, (text->length > 0) ? text->token : NULL,
                              EXPECT_ADDRESS " or id=NUMBER");
    }
}

/* Have trace_match() find the id if the line has none: the event is about the region at
 * its address. The end of a use must have either an address or an id */
static void check_id(record_line_t *line)
{
    if (line->record.event.type != UCS_RCACHE_PRED_EVENT_USE_END) {
        line->open = line->has_id ? 0 : TRACE_NO_ID;
    } else if (line->has_id == (line->open != 0)) {
        line->text->status = trace_error(
                &line->text->builder->source, line->text->number,
                "the end of a use: expected either an address or id=NUMBER");
    }
}

static void read_event(record_line_t *line)
{
    trace_text_t *text = line->text;

    if (!(line->type->has & TRACE_HAS_RANGE)) {
        read_end_address(line);
    }
    while (trace_text_token(text)) {
        set_named(line);
    }
    if ((text->status == UCS_OK) && (line->type->has & TRACE_HAS_ID)) {
        check_id(line);
    }
}

void trace_text_record(trace_text_t *text, unsigned type)
{
    record_line_t line = {
        .text = text,
        .type = &trace_types[type]
    };

    read_placed(&line);
    if (type < TRACE_RECORD_META) {
        line.record.event.type = type - TRACE_RECORD_EVENT;
        read_event(&line);
    }

    if (text->status == UCS_OK) {
        text->status = trace_build(text->builder, type, &line.record,
                                   text->number, line.open);
    } else {
        trace_free_strings(type, &line.record);
    }
}
