/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "template.h"
#include "units.h"

#include <ucs/sys/math.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 16


typedef struct {
    FILE         *out;
    const char   *objects[MAX_DEPTH]; /* The whole JSON, and then the objects of
                                         the open sections. A name is looked up
                                         in the last object first */
    unsigned     depth;
    int          open;                /* Sections that have not ended */
    ucs_status_t status;
} writer_t;

/* A word of a tag */
typedef struct {
    const char *text;
    size_t     length;
} word_t;


static const char *render(writer_t *writer, const char *p, int is_live);

/*
 * Values of the JSON, read in place: a value is a pointer to its first
 * character. ucs/base/json.h writes no spaces.
 */

static const char *string_end(const char *p)
{
    for (++p; *p != '"'; ++p) {
        p += (*p == '\\');
    }
    return p + 1;
}

/* @return the character after a value. */
static const char *value_end(const char *value)
{
    const char *p = value;
    int depth     = 0;

    do {
        if (*p == '"') {
            p = string_end(p);
        } else if ((*p == '{') || (*p == '[')) {
            ++depth;
            ++p;
        } else if ((*p == '}') || (*p == ']')) {
            --depth;
            ++p;
        } else {
            p += ucs_max(strcspn(p, "\"{}[],"), 1u);
        }
    } while (depth > 0);

    return p;
}

/* @return the value of the member or element that begins here. */
static const char *value_of(const char *p)
{
    const char *end = (*p == '"') ? string_end(p) : p;

    return (*end == ':') ? (end + 1) : p;
}

/* @return the value of an object's first member, or an array's first element; NULL: there
 *         is none. */
static const char *value_first(const char *value)
{
    return (((*value == '{') && (value[1] != '}')) ||
            ((*value == '[') && (value[1] != ']'))) ?
           value_of(value + 1) : NULL;
}

/* @return the next value in the same object or array, or NULL. */
static const char *value_next(const char *value)
{
    const char *end = value_end(value);

    return (*end == ',') ? value_of(end + 1) : NULL;
}

/* @return the value of a member of an object, or NULL. */
static const char *member(const char *object, const char *name, size_t length)
{
    const char *key, *value;

    for (key = object + 1; *object == '{' && *key == '"';
         key = value_end(value) + 1) {
        value = value_of(key);
        if (((size_t)(value - key) == length + 3) &&
            !memcmp(key + 1, name, length)) {
            return value;
        }
        if (*value_end(value) != ',') {
            break;
        }
    }

    return NULL;
}

/* @return the value of the member at a path, such as "policies.predict.uses"; NULL: there is
 * no such member. */
static const char *value_find(const char *object, const word_t *path)
{
    const char *p   = path->text;
    const char *end = p + path->length;
    size_t step;

    for (; (object != NULL) && (p < end); p += step + 1) {
        step   = ucs_min(strcspn(p, "."), (size_t)(end - p));
        object = member(object, p, step);
    }

    return object;
}

/* @return the value of a number; 1 for true, 0 for false and null; NaN for any other
 *         value, and for none. */
static double value_number(const char *value)
{
    if ((value == NULL) || (strchr("{[\"", *value) != NULL)) {
        return NAN;
    }

    return (*value == 't') ? 1 : strtod(value, NULL);
}

/* Whether a value exists, and is not null, false, 0, "", [] or {} */
static int value_is_true(const char *value)
{
    return (value != NULL) &&
           ((*value == '"') ? (value[1] != '"') :
            (strchr("{[", *value) != NULL) ?
            (value_first(value) != NULL) :
            (value_number(value) != 0));
}

static void write_character(FILE *out, unsigned c)
{
    static const char *const entities[0x80] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;",
        ['\''] = "&#39;"
    };

    if ((c == 0x7f) || ((c < 0x20) && (c != '\n') && (c != '\t'))) {
        fputs("\xef\xbf\xbd", out); /* U+FFFD in place of a control character, which
                                       HTML must not have */
    } else if ((c < 0x80) && (entities[c] != NULL)) {
        fputs(entities[c], out);
    } else {
        fputc(c, out);
    }
}

/* Write a string or number of the JSON. The writer of the JSON uses no other escape
 * sequences than \uXXXX, and a backslash before the character itself */
static void write_text(FILE *out, const char *value)
{
    const char *end = value_end(value);
    const char *p   = value;
    char *rest;

    if (*value != '"') {
        fwrite(value, 1, end - value, out);
        return;
    }

    for (++p; p < end - 1; ++p) {
        if (*p != '\\') {
            write_character(out, (unsigned char)*p);
        } else if (*++p == 'u') {
            char digits[5] = {p[1], p[2], p[3], p[4], 0};
            write_character(out, (unsigned)strtoul(digits, &rest, 16));
            p += 4;
        } else {
            write_character(out, (unsigned char)*p);
        }
    }
}

/* Write the JSON as the content of a script element. The characters < > & become escapes,
 * so nothing looks like the end of the element, and so do line separators (U+2028,
 * U+2029), which older versions of JavaScript do not accept in strings */
static void write_json(FILE *out, const char *json)
{
    for (; *json != '\0'; ++json) {
        if (strchr("<>&", *json) != NULL) {
            fprintf(out, "\\u%04x", *json);
        } else if (!strncmp(json, "\xe2\x80\xa8", 3) ||
                   !strncmp(json, "\xe2\x80\xa9", 3)) {
            json += 2;
            fprintf(out, "\\u%04x", 0x2000 + (*json & 0x3f));
        } else {
            fputc(*json, out);
        }
    }
}

static int next_word(const char **p, const char *end, word_t *word)
{
    *p          += strspn(*p, " \n");
    word->text   = *p;
    word->length = ucs_min(strcspn(*p, " \n"), (size_t)(end - *p));
    *p          += word->length;
    return word->length > 0;
}

static int is_word(const word_t *word, const char *text)
{
    return (word->length == strlen(text)) &&
           !memcmp(word->text, text, word->length);
}

static const char *look_up(const writer_t *writer, const word_t *word)
{
    const char *value = NULL;
    unsigned i;

    for (i = writer->depth; (i-- > 0) && (value == NULL);) {
        value = value_find(writer->objects[i], word);
    }

    return value;
}

static double number_of(const writer_t *writer, const word_t *word)
{
    return ((*word->text >= '0') && (*word->text <= '9')) ?
           strtod(word->text, NULL) :
           value_number(look_up(writer, word));
}

/* Whether a value is a string with the same text as a word in quotes */
static int is_text(const char *value, const word_t *word)
{
    return (value != NULL) && (*value == '"') &&
           ((size_t)(value_end(value) - value) == word->length) &&
           !memcmp(value + 1, word->text + 1, word->length - 2);
}

static double apply(writer_t *writer, double left, char operator, double right)
{
    switch (operator) {
    case '+':
        return left + right;
    case '-':
        return left - right;
    case '*':
        return left * right;
    case '/':
        return (right == 0) ? NAN : (left / right);
    case '<':
        return left < right;
    case '>':
        return left > right;
    case '=':
        return left == right;
    default:
        writer->status = UCS_ERR_INVALID_PARAM;
        return NAN;
    }
}

static double compute(writer_t *writer, const char *p, const char *end)
{
    word_t word, operator;
    const char *value;
    double result;

    if (!next_word(&p, end, &word)) {
        writer->status = UCS_ERR_INVALID_PARAM;
        return NAN;
    }

    value  = look_up(writer, &word);
    result = number_of(writer, &word);
    while (next_word(&p, end, &operator)) {
        if (!next_word(&p, end, &word)) {
            writer->status = UCS_ERR_INVALID_PARAM;
        } else if (*word.text == '\'') {
            result = is_text(value, &word);
        } else {
            result = apply(writer, result, *operator.text,
                           number_of(writer, &word));
        }
    }

    return result;
}

static int is_true(writer_t *writer, const char *p, const char *end)
{
    const char *rest = p;
    word_t word, operator;
    double result;

    if (next_word(&rest, end, &word) && !next_word(&rest, end, &operator)) {
        return value_is_true(look_up(writer, &word));
    }

    result = compute(writer, p, end);
    return (result == result) && (result != 0);
}

static void write_number(writer_t *writer, const word_t *format, double number)
{
    char text[PREDREG_UNITS_MAX] = "";
    const char *c;

    if (number < 0) {
        fputs("\xe2\x88\x92", writer->out); /* A minus sign */
        number = -number;
    }

    if ((number != number) && !is_word(format, "percent") &&
        !is_word(format, "bar")) {
        return;
    } else if (is_word(format, "bytes")) {
        predreg_bytes_str(number, text);
    } else if (is_word(format, "bytesec")) {
        predreg_byte_seconds_str(number, text);
    } else if (is_word(format, "seconds")) {
        predreg_time_str(number * 1e9, text);
    } else if (is_word(format, "percent")) {
        predreg_percent_str(number, (number == number), text);
    } else if (is_word(format, "count")) {
        predreg_count_str(number, text);
    } else if (is_word(format, "bar")) {
        snprintf(text, sizeof(text), "%.1f%%",
                 100 * ucs_max(0, ucs_min(1, (number == number) ? number : 0)));
    } else if (is_word(format, "number")) {
        snprintf(text, sizeof(text), "%.0f", number);
    } else if (is_word(format, "fixed")) {
        snprintf(text, sizeof(text), "%.1f", number);
    } else {
        writer->status = UCS_ERR_INVALID_PARAM;
    }
    for (c = text; *c != '\0'; ++c) {
        write_character(writer->out, (unsigned char)*c);
    }
}

static void write_tag(writer_t *writer, const char *p, const char *end)
{
    const char *rest = p;
    const char *value;
    word_t word;

    next_word(&rest, end, &word);
    if (is_word(&word, "json")) {
        write_json(writer->out, writer->objects[0]);
    } else if (rest < end) {
        write_number(writer, &word, compute(writer, rest, end));
    } else {
        value = look_up(writer, &word);
        if ((value != NULL) && (*value != 'n')) {
            write_text(writer->out, value);
        }
    }
}

/* Write the content of a section, whose names are looked up in @a object first.
 * @return the text after the end of the section. */
static const char *
render_in(writer_t *writer, const char *p, const char *object)
{
    if (writer->depth == MAX_DEPTH) {
        writer->status = UCS_ERR_INVALID_PARAM;
        return p + strlen(p);
    }

    ++writer->open;
    writer->objects[writer->depth++] = object;
    p                                = render(writer, p, 1);
    --writer->depth;
    return p;
}

/* Write the section of a tag that begins here.
 * @return the text after the end of the section. */
static const char *render_section(writer_t *writer, const char *tag,
                                  const char *end, int is_live)
{
    const char *p     = tag + 1;
    const char *body  = end + 2;
    const char *after, *value;
    word_t word;

    ++writer->open;
    after = render(writer, body, 0);
    if (!is_live) {
        return after;
    }

    next_word(&p, end, &word);
    value = look_up(writer, &word);
    if (*tag == '@') {
        for (value = (value == NULL) ? NULL : value_first(value);
             value != NULL; value = value_next(value)) {
            render_in(writer, body, value);
        }
    } else if (is_true(writer, tag + 1, end) == (*tag == '#')) {
        render_in(writer, body, ((*tag == '#') && (p == end) &&
                                 (*value == '{')) ? value : "{}");
    }

    return after;
}

/* Write text up to the end of its section; if is_live is 0, skip it.
 * @return the text after the end. */
static const char *render(writer_t *writer, const char *p, int is_live)
{
    const char *tag, *end;

    while ((tag = strstr(p, "{{")) != NULL) {
        end = strstr(tag, "}}");
        if (end == NULL) {
            writer->status = UCS_ERR_INVALID_PARAM;
            break;
        }

        if (is_live) {
            fwrite(p, 1, tag - p, writer->out);
        }
        tag += 2;
        p    = end + 2;
        if (*tag == '/') {
            --writer->open;
            return p;
        } else if (strchr("#^@", *tag) != NULL) {
            p = render_section(writer, tag, end, is_live);
        } else if (is_live) {
            write_tag(writer, tag, end);
        }
    }

    if (is_live) {
        fputs(p, writer->out);
    }
    return p + strlen(p);
}

ucs_status_t predreg_template_write(const char *text, const char *json,
                                    FILE *out)
{
    writer_t writer = {
        .out     = out,
        .objects = { json },
        .depth   = 1,
        .status  = UCS_OK
    };

    render(&writer, text, 1);
    return (writer.open == 0) ? writer.status : UCS_ERR_INVALID_PARAM;
}
