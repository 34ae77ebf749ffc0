/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_TOKEN_H_
#define UCS_RCACHE_TRACE_TOKEN_H_

#include "build.h"

BEGIN_C_DECLS

/** @file token.h
 *
 * A line of the text form, word by word. Functions that return a status have
 * logged what was expected.
 */

typedef struct ucs_rcache_trace_line {
    const ucs_rcache_trace_builder_t *builder;
    const char                       *next;   /**< What is read next */
    const char                       *end;    /**< Of the line */
    size_t                           number;  /**< Of the line, from 1 */
    size_t                           length;  /**< Of the token */
    char                             token[UCS_RCACHE_TRACE_MAX_STRING + 1];
                                              /**< Terminated */
} ucs_rcache_trace_line_t;


/** Whether there is another token; else there is at most a comment. */
int ucs_rcache_trace_has_token(ucs_rcache_trace_line_t *line);

/** Read the next token: a word, or a string in quotation marks. There has to be
 *  one, which is what @a expected says. */
ucs_status_t ucs_rcache_trace_next_token(ucs_rcache_trace_line_t *line,
                                         const char *expected);

/** Log what was expected instead of a part of the line. @return
 *  UCS_ERR_INVALID_PARAM. */
ucs_status_t ucs_rcache_trace_unexpected(const ucs_rcache_trace_line_t *line,
                                         const char *text,
                                         const char *expected);


/* What a token, or its part after '=', says. @return whether it says that. */

/** A number, decimal or (0x) hexadecimal. */
int ucs_rcache_trace_parse_number(const char *text, uint64_t max,
                                  uint64_t *value_p);

/** Likewise, also with K, M or G (2^10, 2^20, 2^30) after it. */
int ucs_rcache_trace_parse_size(const char *text, uint64_t *value_p);

/** Seconds, or another unit if it is named (ms, us, ns), as nanoseconds:
 *  rounded, exact if there are that few digits. */
int ucs_rcache_trace_parse_time(const char *text, uint64_t *value_p);

/** Bytes, two hexadecimal digits each. */
int ucs_rcache_trace_parse_bytes(const char *text, uint8_t *bytes,
                                 unsigned max, unsigned *count_p);

END_C_DECLS

#endif
