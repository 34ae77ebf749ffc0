/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "json.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>


/* @return how many bytes the character at the start of a string has, or 0 if it
 *         is no UTF-8 */
static unsigned utf8_length(const unsigned char *c)
{
    unsigned length = (c[0] < 0x80) ? 1 :
                      ((c[0] >= 0xc2) && (c[0] < 0xe0)) ? 2 :
                      ((c[0] >= 0xe0) && (c[0] < 0xf0)) ? 3 :
                      ((c[0] >= 0xf0) && (c[0] < 0xf5)) ? 4 : 0;
    unsigned i;

    for (i = 1; i < length; ++i) {
        if ((c[i] & 0xc0) != 0x80) {
            return 0;
        }
    }

    /* Refused: forms longer than needed, the surrogates of UTF-16, and numbers
     * above the last character */
    return (((c[0] == 0xe0) && (c[1] < 0xa0)) || ((c[0] == 0xed) && (c[1] >= 0xa0)) ||
            ((c[0] == 0xf0) && (c[1] < 0x90)) || ((c[0] == 0xf4) && (c[1] >= 0x90))) ?
           0 : length;
}

static void put_quoted(ucs_string_buffer_t *strb, const char *string)
{
    const unsigned char *c = (const unsigned char*)string;
    unsigned length;

    ucs_string_buffer_appendf(strb, "\"");
    for (; *c != '\0'; c += (length == 0) ? 1 : length) {
        length = utf8_length(c);
        if ((*c == '"') || (*c == '\\')) {
            ucs_string_buffer_appendf(strb, "\\%c", *c);
        } else if (*c < ' ') {
            ucs_string_buffer_appendf(strb, "\\u%04x", *c);
        } else if (length == 0) {
            ucs_string_buffer_appendf(strb, "?");
        } else {
            ucs_string_buffer_appendf(strb, "%.*s", (int)length, (const char*)c);
        }
    }
    ucs_string_buffer_appendf(strb, "\"");
}

/* Write the comma and the name in front of a value */
static void put_name(ucs_json_t *json, const char *name)
{
    if (json->needs_comma) {
        ucs_string_buffer_appendf(json->strb, ",");
    }

    json->needs_comma = 1;
    if (name != NULL) {
        put_quoted(json->strb, name);
        ucs_string_buffer_appendf(json->strb, ":");
    }
}

void ucs_json_begin(ucs_json_t *json, const char *name, char bracket)
{
    put_name(json, name);
    ucs_string_buffer_appendf(json->strb, "%c", bracket);
    json->needs_comma = 0;
}

void ucs_json_end(ucs_json_t *json, char bracket)
{
    ucs_string_buffer_appendf(json->strb, "%c", bracket);
    json->needs_comma = 1;
}

void ucs_json_string(ucs_json_t *json, const char *name, const char *value)
{
    put_name(json, name);
    if (value == NULL) {
        ucs_string_buffer_appendf(json->strb, "null");
    } else {
        put_quoted(json->strb, value);
    }
}

void ucs_json_bool(ucs_json_t *json, const char *name, int value)
{
    put_name(json, name);
    ucs_string_buffer_appendf(json->strb, "%s", value ? "true" : "false");
}

void ucs_json_printf(ucs_json_t *json, const char *name, const char *format, ...)
{
    char text[512];
    va_list args;

    put_name(json, name);
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    ucs_string_buffer_appendf(json->strb, "%s", text);
}

void ucs_json_uint(ucs_json_t *json, const char *name, uint64_t value)
{
    ucs_json_printf(json, name, "%lu", value);
}

void ucs_json_real(ucs_json_t *json, const char *name, double value)
{
    if (isfinite(value)) {
        ucs_json_printf(json, name, "%.12g", value);
    } else {
        ucs_json_string(json, name, NULL);
    }
}
