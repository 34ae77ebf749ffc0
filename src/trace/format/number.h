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
 * What words of the text form say. Functions to parse return whether they do.
 */

/** A number, decimal or (0x) hexadecimal. */
int trace_parse_number(const char *text, uint64_t max, uint64_t *value_p);

/** Likewise, also with K, M or G (2^10, 2^20, 2^30) after it. */
int trace_parse_size(const char *text, uint64_t *value_p);

/** Seconds, or another unit if it is named (ms, us, ns), as nanoseconds:
 *  rounded, exact if there are that few digits. */
int trace_parse_time(const char *text, uint64_t *value_p);

/** Bytes, two hexadecimal digits each. */
int trace_parse_bytes(const char *text, uint8_t *bytes, unsigned max,
                      unsigned *count_p);

/** @return the value of a hexadecimal digit, or -1. */
int trace_hex_digit(char c);

END_C_DECLS

#endif
