/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_TRACE_TEXT_H_
#define PREDREG_TRACE_TEXT_H_

#include "trace_int.h"

BEGIN_C_DECLS

/** @file text.h
 *
 * A text while it is read: tokens are words, and strings in quotation marks; a
 * comment may end a line (token.c). Numbers, sizes, times and bytes are parsed
 * from words (number.c). Uses trace_int.h; text.c and text_event.c call it.
 *
 * The first error ends the text: it is logged, and is the status of the text from
 * then on. Functions that read then do nothing, and return 0.
 *
 * Threads: a text belongs to one thread.
 */

/** Expectations in messages. */
#define TRACE_EXPECT_NUMBER \
    "a number from 0 to 18446744073709551615 (or 0x...)"
#define TRACE_EXPECT_ADDRESS "an address, such as 0x7f0012340000"


typedef struct trace_text {
    trace_builder_t *builder; /**< Gets the records */
    ucs_status_t    status;   /**< The first error */
    uint64_t        version;  /**< Of the file */
    const char      *next;    /**< The next character */
    const char      *end;     /**< End of the line */
    size_t          number;   /**< Number of the line, from 1 */
    size_t          length;   /**< Length of the token */
    char            token[UCS_RCACHE_TRACE_MAX_STRING + 1]; /**< The token
                                                                 read last,
                                                                 terminated
                                                                 by a zero */
} trace_text_t;


/** @return whether another token follows on the line, before a comment. */
int trace_text_has_token(trace_text_t *text);

/** Read the next token. The message about a missing one has @a expected. */
void trace_text_token(trace_text_t *text, const char *expected);

/** Read the next token. @return its number. */
uint64_t trace_text_number(trace_text_t *text, const char *expected);

/** Log an error: @a expected was expected in place of @a word. */
void trace_text_unexpected(trace_text_t *text, const char *word,
                           const char *expected);

/** Add the event of this line to the trace. The first word, the name of @a
 *  type (ucs_rcache_pred_event_type_t), was read. */
void trace_text_event(trace_text_t *text, uint8_t type);


/* Parse a word. Pure. The functions return 0 if the word is anything else. */

/** A number up to @a max, decimal or (0x) hexadecimal. */
int trace_parse_number(const char *text, uint64_t max, uint64_t *value_p);

/** A number of 64 bits, perhaps with K, M or G (2^10, 2^20, 2^30). */
int trace_parse_size(const char *text, uint64_t *value_p);

/** A time in seconds, or in the unit after it (s, ms, us, ns), as nanoseconds. A
 *  fraction of a nanosecond is rounded. */
int trace_parse_time(const char *text, uint64_t *value_p);

/** Up to @a max bytes, each written as two hexadecimal digits. */
int trace_parse_bytes(const char *text, uint8_t *bytes, unsigned max,
                      unsigned *count_p);

/** @return the value of a hexadecimal digit, or -1. */
int trace_hex_digit(char c);

END_C_DECLS

#endif
