/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "text.h"

#include <ctype.h>

/* The most characters of a word that an error message shows */
#define MAX_SHOWN 40


/* Not isspace(), which depends on the locale */
static int is_space(char c)
{
    return (c == ' ') || (c == '\t') || (c == '\r');
}

void trace_text_unexpected(trace_text_t *text, const char *word,
                           const char *expected)
{
    const trace_source_t *source = &text->builder->source;
    char shown[MAX_SHOWN + 1];
    size_t i;

    if (text->status != UCS_OK) {
        return;
    }

    if (word == NULL) {
        text->status = trace_error(source, text->number,
                                   "the line ends: expected %s", expected);
        return;
    }

    for (i = 0; (i < MAX_SHOWN) && (word[i] != '\0'); ++i) {
        shown[i] = iscntrl((unsigned char)word[i]) ? '?' : word[i];
    }
    shown[i] = '\0';

    text->status = trace_error(source, text->number, "'%s%s': expected %s",
                               shown, (word[i] == '\0') ? "" : "...",
                               expected);
}

int trace_text_has_token(trace_text_t *text)
{
    while ((text->next < text->end) && is_space(*text->next)) {
        ++text->next;
    }

    return (text->status == UCS_OK) && (text->next < text->end) &&
           (*text->next != '#');
}

static void reject_byte(trace_text_t *text)
{
    text->token[text->length] = '\0';
    trace_text_unexpected(
            text, text->token, "up to 16383 bytes, none of them zero, and "
            "after \\ one of \\, \", n, t, or x and two hexadecimal digits");
}

static int add(trace_text_t *text, char c)
{
    if ((c == '\0') || (text->length == UCS_RCACHE_TRACE_MAX_STRING)) {
        return 0;
    }

    text->token[text->length++] = c;
    return 1;
}

/* Add the character of an escape sequence, after its backslash */
static int add_escaped(trace_text_t *text)
{
    size_t left = text->end - text->next;
    int high, low;

    if (left == 0) {
        return 0;
    }

    switch (*text->next++) {
    case '\\':
        return add(text, '\\');
    case '"':
        return add(text, '"');
    case 'n':
        return add(text, '\n');
    case 't':
        return add(text, '\t');
    case 'x':
        high = (left < 3) ? -1 : trace_hex_digit(text->next[0]);
        low  = (left < 3) ? -1 : trace_hex_digit(text->next[1]);
        if ((high < 0) || (low < 0)) {
            return 0;
        }
        text->next += 2;
        return add(text, (high << 4) | low);
    default:
        return 0;
    }
}

static void read_quoted(trace_text_t *text)
{
    char c;

    while (text->next < text->end) {
        c = *text->next++;
        if (c == '"') {
            text->token[text->length] = '\0';
            return;
        }

        if (!((c == '\\') ? add_escaped(text) : add(text, c))) {
            reject_byte(text);
            return;
        }
    }

    text->token[text->length] = '\0';
    trace_text_unexpected(text, text->token, "a quotation mark at its end");
}

static void read_word(trace_text_t *text)
{
    while ((text->next < text->end) && !is_space(*text->next)) {
        if (!add(text, *text->next++)) {
            reject_byte(text);
            return;
        }
    }

    text->token[text->length] = '\0';
}

int trace_text_token(trace_text_t *text)
{
    text->length   = 0;
    text->token[0] = '\0';
    if (!trace_text_has_token(text)) {
        return 0;
    }

    if (*text->next == '"') {
        ++text->next;
        read_quoted(text);
    } else {
        read_word(text);
    }

    return text->status == UCS_OK;
}
