/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_HTML_H_
#define PREDREG_HTML_H_

#include <ucs/sys/compiler_def.h>

#include <stdio.h>

BEGIN_C_DECLS

/** @file html.h
 *
 * Text into HTML. Whatever does not come from this program itself (command
 * lines, paths, names of symbols) is written with these; fputs() and fprintf()
 * are for markup and for numbers.
 *
 * Errors of the stream are left for the one who closes it.
 */

/**
 * Write text so that it is nothing but text, in an element or in the quotes of
 * an attribute. What is no UTF-8, and control characters but for newlines and
 * tabs, become U+FFFD.
 */
void predreg_html_text(FILE *out, const char *text);

/** As @ref predreg_html_text, of a formatted string. */
void predreg_html_print(FILE *out, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/**
 * An element with nothing but text in it.
 *
 * @param [in] tag  Name and attributes, as in "td class=\"n\"". Markup.
 */
void predreg_html_element(FILE *out, const char *tag, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

END_C_DECLS

#endif
