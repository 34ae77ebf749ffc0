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
 * from words (number.c). Uses trace_int.h; text.c and text_record.c call it.
 *
 * The first error ends the text: it is logged, and is the status of the text from
 * then on. Functions that read then do nothing, and return 0.
 *
 * Threads: a text belongs to one thread.
 */

typedef struct trace_text {
    trace_builder_t *builder; /**< Gets the records */
    ucs_status_t    status;   /**< The first error */
    uint64_t        version;  /**< Version of the text form, by the header */
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

/** Read the next token. @return 0 if the line ends, or after an error. */
int trace_text_token(trace_text_t *text);

/** Log an error: the text has @a word, or the end of the line if @a word is NULL, where
 *  @a expected was expected. After an earlier error the function does nothing. */
void trace_text_unexpected(trace_text_t *text, const char *word,
                           const char *expected);

/** Read the rest of a record, and add the record to the trace. The caller has read the
 *  first word, which is the name of @a type. */
void trace_text_record(trace_text_t *text, unsigned type);


/* Functions that parse a word. Pure. Each function returns 0 if the whole word does not
 * have the form that its comment describes; trace_hex_digit(), which takes one character,
 * returns -1 instead. */

/** A number, decimal or (0x) hexadecimal. */
int trace_parse_number(const char *text, uint64_t *value_p);

/** A number, perhaps with K, M or G (2^10, 2^20, 2^30). */
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
