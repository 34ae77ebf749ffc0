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
 * Writes text into HTML. All text that does not come from this program itself
 * (command lines, paths, names of symbols) has to be written with these
 * functions; fputs() and fprintf() are for markup and for numbers.
 *
 * The caller, who closes the stream, checks it for errors.
 */

/**
 * Write text so that it is never taken for markup, in an element or in the
 * quotes of an attribute. Bytes that are not UTF-8, and control characters
 * except newlines and tabs, become U+FFFD.
 */
void predreg_html_text(FILE *out, const char *text);

/** Write a formatted string as @ref predreg_html_text does. */
void predreg_html_print(FILE *out, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/**
 * Write an element that contains nothing but text.
 *
 * @param [in] tag  Name and attributes of the element, as in "td class=\"n\"".
 *                  This is markup.
 */
void predreg_html_element(FILE *out, const char *tag, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

END_C_DECLS

#endif
