/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "token.h"
#include "number.h"

#include <ctype.h>

/* How many characters of a token messages show */
#define TOKEN_MAX_SHOWN 40


/* Not isspace(), which depends on the locale */
static int token_is_space(char c)
{
    return (c == ' ') || (c == '\t') || (c == '\r');
}

ucs_status_t trace_unexpected(const trace_line_t *line, const char *text,
                              const char *expected)
{
    char shown[TOKEN_MAX_SHOWN + 1];
    size_t i;

    for (i = 0; (i < TOKEN_MAX_SHOWN) && (text[i] != '\0'); ++i) {
        shown[i] = iscntrl((unsigned char)text[i]) ? '?' : text[i];
    }
    shown[i] = '\0';

    return trace_error(line->source, line->number, "'%s%s': expected %s", shown,
                       (text[i] == '\0') ? "" : "...", expected);
}

int trace_has_token(trace_line_t *line)
{
    while ((line->next < line->end) && token_is_space(*line->next)) {
        ++line->next;
    }

    return (line->next < line->end) && (*line->next != '#');
}

static ucs_status_t token_bad_byte(trace_line_t *line)
{
    line->token[line->length] = '\0';
    return trace_unexpected(
            line, line->token, "up to 16383 bytes, none of them zero, and "
            "after \\ one of \\, \", n, t, or x and two hexadecimal digits");
}

static int token_add(trace_line_t *line, char c)
{
    if ((c == '\0') || (line->length == UCS_RCACHE_TRACE_MAX_STRING)) {
        return 0;
    }

    line->token[line->length++] = c;
    return 1;
}

/* Add the character for which the ones after a backslash stand. */
static int token_add_escape(trace_line_t *line)
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
        high = (left < 3) ? -1 : trace_hex_digit(line->next[0]);
        low  = (left < 3) ? -1 : trace_hex_digit(line->next[1]);
        if ((high < 0) || (low < 0)) {
            return 0;
        }
        line->next += 2;
        return token_add(line, (high << 4) | low);
    default:
        return 0;
    }
}

static ucs_status_t token_read_quoted(trace_line_t *line)
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
    return trace_unexpected(line, line->token, "a quotation mark at its end");
}

static ucs_status_t token_read_word(trace_line_t *line)
{
    while ((line->next < line->end) && !token_is_space(*line->next)) {
        if (!token_add(line, *line->next++)) {
            return token_bad_byte(line);
        }
    }

    line->token[line->length] = '\0';
    return UCS_OK;
}

ucs_status_t trace_next_token(trace_line_t *line, const char *expected)
{
    line->length = 0;
    if (!trace_has_token(line)) {
        return trace_error(line->source, line->number,
                           "the line ends: expected %s", expected);
    }

    if (*line->next == '"') {
        ++line->next;
        return token_read_quoted(line);
    }

    return token_read_word(line);
}

ucs_status_t trace_next_number(trace_line_t *line, const char *expected,
                               uint64_t *value_p)
{
    ucs_status_t status = trace_next_token(line, expected);

    if ((status == UCS_OK) &&
        !trace_parse_number(line->token, UINT64_MAX, value_p)) {
        return trace_unexpected(line, line->token, expected);
    }

    return status;
}

ucs_status_t trace_end_line(trace_line_t *line)
{
    ucs_status_t status;

    if (!trace_has_token(line)) {
        return UCS_OK;
    }

    status = trace_next_token(line, "");
    return (status == UCS_OK) ?
           trace_unexpected(line, line->token, "the end of the line") :
           status;
}
