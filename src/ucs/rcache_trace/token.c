/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "token.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* As much of a token as messages show */
#define TOKEN_MAX_SHOWN 40

/* Beyond these exponents a time is 0, or too large */
#define TOKEN_MAX_EXPONENT 1000


/* Not those of <ctype.h>, which depend on the locale */
static int token_is_space(char c)
{
    return (c == ' ') || (c == '\t') || (c == '\r');
}

static int token_is_digit(char c)
{
    return (c >= '0') && (c <= '9');
}

/* @return -1 if it is none */
static int token_hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *found          = (c == '\0') ? NULL : strchr(digits, c);

    return (found == NULL) ? -1 : (found - digits) % 16;
}

ucs_status_t ucs_rcache_trace_unexpected(const ucs_rcache_trace_line_t *line,
                                         const char *text,
                                         const char *expected)
{
    char shown[TOKEN_MAX_SHOWN + 1];
    size_t i;

    for (i = 0; (i < TOKEN_MAX_SHOWN) && (text[i] != '\0'); ++i) {
        shown[i] = iscntrl((unsigned char)text[i]) ? '?' : text[i];
    }
    shown[i] = '\0';

    return ucs_rcache_trace_builder_error(line->builder, line->number,
                                          "'%s%s': expected %s", shown,
                                          (text[i] == '\0') ? "" : "...",
                                          expected);
}

int ucs_rcache_trace_has_token(ucs_rcache_trace_line_t *line)
{
    while ((line->next < line->end) && token_is_space(*line->next)) {
        ++line->next;
    }

    return (line->next < line->end) && (*line->next != '#');
}

static ucs_status_t token_bad_byte(ucs_rcache_trace_line_t *line)
{
    line->token[line->length] = '\0';
    return ucs_rcache_trace_unexpected(
            line, line->token, "up to 16383 bytes, none of them zero, and after "
            "\\ one of \\, \", n, t, or x and two hexadecimal digits");
}

static int token_add(ucs_rcache_trace_line_t *line, char c)
{
    if ((c == '\0') || (line->length == UCS_RCACHE_TRACE_MAX_STRING)) {
        return 0;
    }

    line->token[line->length++] = c;
    return 1;
}

/* What stands after a backslash */
static int token_add_escape(ucs_rcache_trace_line_t *line)
{
    size_t left = line->end - line->next;
    int high, low;

    if (left == 0) {
        return 0;
    }

    switch (*line->next++) {
    case '\\':
        return token_add(line, '\\');
    case '"':
        return token_add(line, '"');
    case 'n':
        return token_add(line, '\n');
    case 't':
        return token_add(line, '\t');
    case 'x':
        high = (left < 3) ? -1 : token_hex_digit(line->next[0]);
        low  = (left < 3) ? -1 : token_hex_digit(line->next[1]);
        if ((high < 0) || (low < 0)) {
            return 0;
        }
        line->next += 2;
        return token_add(line, (high << 4) | low);
    default:
        return 0;
    }
}

static ucs_status_t token_read_quoted(ucs_rcache_trace_line_t *line)
{
    char c;

    while (line->next < line->end) {
        c = *line->next++;
        if (c == '"') {
            line->token[line->length] = '\0';
            return UCS_OK;
        }

        if (!((c == '\\') ? token_add_escape(line) : token_add(line, c))) {
            return token_bad_byte(line);
        }
    }

    line->token[line->length] = '\0';
    return ucs_rcache_trace_unexpected(line, line->token,
                                       "a quotation mark at its end");
}

static ucs_status_t token_read_word(ucs_rcache_trace_line_t *line)
{
    while ((line->next < line->end) && !token_is_space(*line->next)) {
        if (!token_add(line, *line->next++)) {
            return token_bad_byte(line);
        }
    }

    line->token[line->length] = '\0';
    return UCS_OK;
}

ucs_status_t ucs_rcache_trace_next_token(ucs_rcache_trace_line_t *line,
                                         const char *expected)
{
    line->length = 0;
    if (!ucs_rcache_trace_has_token(line)) {
        return ucs_rcache_trace_builder_error(
                line->builder, line->number, "the line ends: expected %s",
                expected);
    }

    if (*line->next == '"') {
        ++line->next;
        return token_read_quoted(line);
    }

    return token_read_word(line);
}

/* @return where the number ends, or NULL if it is none or too large */
static const char *token_number(const char *text, uint64_t max,
                                uint64_t *value_p)
{
    int base = ((text[0] == '0') && (text[1] == 'x')) ? 16 : 10;
    char *end;

    if (base == 16) {
        text += 2;
    }

    /* strtoull() would take a sign and white space, too */
    if ((base == 16) ? (token_hex_digit(*text) < 0) : !token_is_digit(*text)) {
        return NULL;
    }

    errno    = 0;
    *value_p = strtoull(text, &end, base);
    return ((errno == 0) && (*value_p <= max)) ? end : NULL;
}

int ucs_rcache_trace_parse_number(const char *text, uint64_t max,
                                  uint64_t *value_p)
{
    const char *end = token_number(text, max, value_p);

    return (end != NULL) && (*end == '\0');
}

int ucs_rcache_trace_parse_size(const char *text, uint64_t *value_p)
{
    static const char units[] = "KMG";
    const char *end           = token_number(text, UINT64_MAX, value_p);
    const char *unit;
    unsigned shift;

    if (end == NULL) {
        return 0;
    }

    if (*end == '\0') {
        return 1;
    }

    unit = strchr(units, *end);
    if ((unit == NULL) || (end[1] != '\0')) {
        return 0;
    }

    shift = 10 * (unit - units + 1);
    if (*value_p > (UINT64_MAX >> shift)) {
        return 0;
    }

    *value_p <<= shift;
    return 1;
}

/*
 * Decimal digits with at most one point. Those of a fraction that no longer fit
 * are left out: what is less than a nanosecond of times that large.
 *
 * @return where they end, or NULL if there is none, or if they are too many.
 */
static const char *token_decimal(const char *text, uint64_t *digits_p,
                                 int *exponent_p)
{
    int num_digits = 0, is_fraction = 0;
    uint64_t digits = 0;
    int exponent    = 0;

    for (;; ++text) {
        if ((*text == '.') && !is_fraction) {
            is_fraction = 1;
            continue;
        }

        if (!token_is_digit(*text)) {
            break;
        }

        ++num_digits;
        if (digits <= (UINT64_MAX - (*text - '0')) / 10) {
            digits    = digits * 10 + (*text - '0');
            exponent -= is_fraction;
        } else if (!is_fraction) {
            return NULL;
        }
    }

    *digits_p   = digits;
    *exponent_p = exponent;
    return (num_digits > 0) ? text : NULL;
}

/* As in 1.5e-3; nothing there is 0. @return where it ends, or NULL */
static const char *token_exponent(const char *text, int *exponent_p)
{
    int is_negative, exponent = 0;

    *exponent_p = 0;
    if (*text != 'e') {
        return text;
    }

    ++text;
    is_negative = (*text == '-');
    text       += (*text == '-') || (*text == '+');
    if (!token_is_digit(*text)) {
        return NULL;
    }

    for (; token_is_digit(*text); ++text) {
        if (exponent < TOKEN_MAX_EXPONENT) {
            exponent = exponent * 10 + (*text - '0');
        }
    }

    *exponent_p = is_negative ? -exponent : exponent;
    return text;
}

/* @return the power of 10 that makes nanoseconds of the unit, or -1 */
static int token_time_unit(const char *text)
{
    static const struct {
        const char *name;
        int        exponent;
    } units[] = {{"", 9}, {"s", 9}, {"ms", 6}, {"us", 3}, {"ns", 0}};
    size_t i;

    for (i = 0; i < ucs_static_array_size(units); ++i) {
        if (!strcmp(text, units[i].name)) {
            return units[i].exponent;
        }
    }

    return -1;
}

/* @return whether digits * 10^exponent, rounded, is a number of 64 bits */
static int token_scale(uint64_t digits, int exponent, uint64_t *value_p)
{
    unsigned last = 0;

    for (; (exponent < 0) && (digits > 0); ++exponent) {
        last    = digits % 10;
        digits /= 10;
    }
    if (exponent < 0) {
        last = 0;
    }

    for (; (exponent > 0) && (digits > 0); --exponent) {
        if (digits > UINT64_MAX / 10) {
            return 0;
        }
        digits *= 10;
    }

    *value_p = digits + (last >= 5);
    return 1;
}

int ucs_rcache_trace_parse_time(const char *text, uint64_t *value_p)
{
    int point, exponent, unit;
    uint64_t digits;

    text = token_decimal(text, &digits, &point);
    if (text == NULL) {
        return 0;
    }

    text = token_exponent(text, &exponent);
    unit = (text == NULL) ? -1 : token_time_unit(text);
    if (unit < 0) {
        return 0;
    }

    return token_scale(digits, point + exponent + unit, value_p);
}

int ucs_rcache_trace_parse_bytes(const char *text, uint8_t *bytes,
                                 unsigned max, unsigned *count_p)
{
    unsigned count;
    int high, low;

    for (count = 0; text[2 * count] != '\0'; ++count) {
        high = token_hex_digit(text[2 * count]);
        low  = token_hex_digit(text[2 * count + 1]);
        if ((high < 0) || (low < 0) || (count == max)) {
            return 0;
        }
        bytes[count] = (high << 4) | low;
    }

    *count_p = count;
    return 1;
}
