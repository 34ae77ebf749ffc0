/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "html.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HTML_REPLACEMENT "\xef\xbf\xbd"


/* @return the length of the character of several bytes that starts here, 0 if
 * there is none (RFC 3629, section 4). */
static unsigned html_utf8_length(const unsigned char *p)
{
    /* For a range of first bytes: the number of bytes of the character, and the
     * range of the second byte */
    static const struct {
        uint8_t first, last, length, min, max;
    } forms[] = {
        {0xc2, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf},
        {0xe1, 0xec, 3, 0x80, 0xbf}, {0xed, 0xed, 3, 0x80, 0x9f},
        {0xee, 0xef, 3, 0x80, 0xbf}, {0xf0, 0xf0, 4, 0x90, 0xbf},
        {0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f}
    };
    unsigned i, k;

    for (i = 0; i < sizeof(forms) / sizeof(forms[0]); ++i) {
        if ((p[0] < forms[i].first) || (p[0] > forms[i].last)) {
            continue;
        }

        if ((p[1] < forms[i].min) || (p[1] > forms[i].max)) {
            return 0;
        }

        for (k = 2; k < forms[i].length; ++k) {
            if ((p[k] & 0xc0) != 0x80) { /* This also finds the end of the
                                            string */
                return 0;
            }
        }

        return forms[i].length;
    }

    return 0;
}

static const char *html_entity(unsigned char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void predreg_html_text(FILE *out, const char *text)
{
    const unsigned char *p = (const unsigned char*)text;
    const char *entity;
    unsigned length;

    while (*p != '\0') {
        entity = html_entity(*p);
        length = (*p < 0x80) ? 1 : html_utf8_length(p);
        if (entity != NULL) {
            fputs(entity, out);
        } else if ((length == 0) || (*p == 0x7f) ||
                   ((*p < ' ') && (*p != '\n') && (*p != '\t'))) {
            fputs(HTML_REPLACEMENT, out);
            length = 1;
        } else {
            fwrite(p, 1, length, out);
        }
        p += length;
    }
}

static void html_vprint(FILE *out, const char *format, va_list args)
{
    char *text;

    if (vasprintf(&text, format, args) < 0) {
        fputs(HTML_REPLACEMENT, out);
        return;
    }

    predreg_html_text(out, text);
    free(text);
}

void predreg_html_print(FILE *out, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    html_vprint(out, format, args);
    va_end(args);
}

void predreg_html_element(FILE *out, const char *tag, const char *format, ...)
{
    va_list args;

    fprintf(out, "<%s>", tag);
    va_start(args, format);
    html_vprint(out, format, args);
    va_end(args);
    fprintf(out, "</%.*s>\n", (int)strcspn(tag, " "), tag);
}
