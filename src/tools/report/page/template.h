/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_TEMPLATE_H_
#define PREDREG_TEMPLATE_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stdio.h>

BEGIN_C_DECLS

/** @file template.h
 *
 * Fills in a template with the values of a JSON object. A template is text with
 * tags in double braces:
 *
 * | tag            | becomes                                                  |
 * |----------------|----------------------------------------------------------|
 * | NAME           | a string or a number of the JSON, as text                |
 * | FORMAT EXPR    | a number, in a format of units.h: bytes, bytesec,        |
 * |                | seconds, percent, count; bar, a percentage for a bar;    |
 * |                | fixed, with one decimal; number, with none               |
 * | #EXPR ... /    | the text in between, if the expression is true; the name |
 * |                | of an object also opens the object for names             |
 * | ^EXPR ... /    | the text in between, if the expression is false          |
 * | \@NAME ... /   | the text in between, for each element or member, which   |
 * |                | is open for names                                        |
 * | json           | the whole JSON, for the content of a script element      |
 *
 * A name is a path from an object, such as policies.predict.uses. An expression
 * is a name, number or 'text', followed by operators - / * + = < > and further
 * operands, all with spaces between them, computed from left to right. Only =
 * compares a text. A value that is not in the JSON is no text, no number and
 * not true. The rest of a tag after / is a comment.
 *
 * Everything from the JSON is written as text, never as markup.
 */

/** @param [in] json  Written by ucs/base/json.h.
 *  @return UCS_ERR_INVALID_PARAM for a wrong tag of the template. The caller,
 *          who closes the stream, checks it for errors. */
ucs_status_t predreg_template_write(const char *text, const char *json,
                                    FILE *out);

END_C_DECLS

#endif
