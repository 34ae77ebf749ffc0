/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_TOKEN_H_
#define UCS_RCACHE_TRACE_TOKEN_H_

#include <trace/format/build.h>

BEGIN_C_DECLS

/** @file token.h
 *
 * A line of the text form, word by word. Functions that fail have logged what
 * was expected.
 */

/** What messages say is expected. */
#define TRACE_EXPECT_NUMBER \
    "a number from 0 to 18446744073709551615 (or 0x...)"
#define TRACE_EXPECT_ADDRESS "an address, such as 0x7f0012340000"


typedef struct trace_line {
    const trace_builder_t *builder;
    const char            *next;  /**< What is read next */
    const char            *end;   /**< Of the line */
    size_t                number; /**< Of the line, from 1 */
    size_t                length; /**< Of the token */
    char                  token[TRACE_MAX_STRING + 1]; /**< Terminated */
} trace_line_t;


/** Whether there is another token; else there is at most a comment. */
int trace_has_token(trace_line_t *line);

/** Read the next token: a word, or a string in quotation marks. There has to be
 *  one, which is what @a expected says. */
ucs_status_t trace_next_token(trace_line_t *line, const char *expected);

/** Likewise, and it is a number. */
ucs_status_t trace_next_number(trace_line_t *line, const char *expected,
                               uint64_t *value_p);

/** Nothing but a comment may follow. */
ucs_status_t trace_end_line(trace_line_t *line);

/** Log what was expected instead of a part of the line. @return
 *  UCS_ERR_INVALID_PARAM. */
ucs_status_t trace_unexpected(const trace_line_t *line, const char *text,
                              const char *expected);

END_C_DECLS

#endif
