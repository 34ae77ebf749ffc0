/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_NUMBER_H_
#define UCS_RCACHE_TRACE_NUMBER_H_

#include <ucs/sys/compiler_def.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file number.h
 *
 * The numbers, sizes, times and bytes that words of the text form stand for.
 * Uses the C library only; token.c, text.c and text_event.c call it. The
 * functions are pure, and those that parse return whether the whole word is
 * what they parse.
 */

/** A number up to @a max, decimal or (0x) hexadecimal. */
int trace_parse_number(const char *text, uint64_t max, uint64_t *value_p);

/** A number of 64 bits that may have K, M or G (2^10, 2^20, 2^30) after it. */
int trace_parse_size(const char *text, uint64_t *value_p);

/** A time in seconds, or in the unit after it (s, ms, us, ns), as nanoseconds.
 *  It is rounded if it has a fraction of a nanosecond. */
int trace_parse_time(const char *text, uint64_t *value_p);

/** Up to @a max bytes, each written as two hexadecimal digits. */
int trace_parse_bytes(const char *text, uint8_t *bytes, unsigned max,
                      unsigned *count_p);

/** @return the value of a hexadecimal digit, or -1. */
int trace_hex_digit(char c);

END_C_DECLS

#endif
