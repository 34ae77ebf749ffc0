/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_TOKEN_H_
#define UCS_RCACHE_TRACE_TOKEN_H_

#include <trace/content/content.h>
#include <trace/content/error.h>

BEGIN_C_DECLS

/** @file token.h
 *
 * A line of the text form, token by token: words, strings in quotation marks,
 * and at the end perhaps a comment. Uses number.h and error.h; text.c and
 * text_event.c call it. Functions that fail have logged what was expected.
 *
 * Threads: a line belongs to one thread.
 */

/** What messages say was expected. */
#define TRACE_EXPECT_NUMBER \
    "a number from 0 to 18446744073709551615 (or 0x...)"
#define TRACE_EXPECT_ADDRESS "an address, such as 0x7f0012340000"


/** The line that is being read. */
typedef struct trace_line {
    const trace_source_t *source;
    const char           *next;  /**< The character that is read next */
    const char           *end;   /**< End of the line */
    size_t               number; /**< Number of the line, from 1 */
    size_t               length; /**< Length of the token */
    char                 token[UCS_RCACHE_TRACE_MAX_STRING + 1]; /**< The token
                                      read last, terminated by a zero */
} trace_line_t;


/** @return whether another token follows; otherwise at most a comment does. */
int trace_has_token(trace_line_t *line);

/** Read the next token, a word or a string in quotation marks. It is an error
 *  if there is none; the message then says that @a expected was expected.
 *  @return UCS_ERR_INVALID_PARAM. */
ucs_status_t trace_next_token(trace_line_t *line, const char *expected);

/** Read the next token, which has to be a number.
 *  @return UCS_ERR_INVALID_PARAM. */
ucs_status_t trace_next_number(trace_line_t *line, const char *expected,
                               uint64_t *value_p);

/** Check that nothing but a comment follows. @return UCS_ERR_INVALID_PARAM. */
ucs_status_t trace_end_line(trace_line_t *line);

/** Log that @a expected was expected where the line has @a text.
 *  @return UCS_ERR_INVALID_PARAM. */
ucs_status_t trace_unexpected(const trace_line_t *line, const char *text,
                              const char *expected);

END_C_DECLS

#endif
