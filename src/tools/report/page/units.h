/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_UNITS_H_
#define PREDREG_UNITS_H_

#include <ucs/sys/compiler_def.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file units.h
 *
 * Writes numbers as people read them: three significant digits, a no-break
 * space and a unit, in UTF-8. Each function fills and returns @a buf, of
 * PREDREG_UNITS_MAX bytes.
 */

#define PREDREG_UNITS_MAX 40

/** Memory, in bytes: "0 B", "153 MiB", "61.2 MiB", "4.00 GiB". */
char *predreg_bytes_str(double bytes, char *buf);

/** Memory over time, in byte * s: "61.2 MiB·s". */
char *predreg_byte_seconds_str(double byte_seconds, char *buf);

/** Time, in ns: "0 s", "350 ns", "12.3 µs", "4.56 ms", "1.23 s". */
char *predreg_time_str(double ns, char *buf);

/**
 * A part of a whole: "12.3 %", or "–" if the whole is 0. Only nothing is "0 %",
 * and only the whole "100 %"; parts that would be rounded to these are "< 0.01
 * %" or "> 99.9 %".
 */
char *predreg_percent_str(double part, double whole, char *buf);

/** A whole number: "12,345". */
char *predreg_count_str(uint64_t count, char *buf);

END_C_DECLS

#endif
