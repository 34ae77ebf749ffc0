/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_BASE_NUMBER_H_
#define UCS_BASE_NUMBER_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file number.h
 *
 * Reads numbers as people type them, as the tools of the project print them, and
 * as the kernel shows them in small files. UCX's own functions stop at the first
 * character other than a digit, accept a sign, and return a wrong number for one
 * that does not fit.
 */

/**
 * Read a whole number: decimal digits and nothing else. Pure.
 *
 * @param [in] is_bytes  Whether a unit may follow: b, k, m, g or t, in letters of any
 *                       case; but for b, B or iB may follow: 64m, 64MB, 64MiB.
 * @return whether the text is such a number, and fits.
 */
int ucs_number_parse(const char *text, int is_bytes, unsigned long *value_p);

/**
 * Find the first line of a file, as in /proc or /sys, that begins as a format says, such as
 * "VmPin: %lu", and read the values of the line. Any thread, but not in memory hooks: the
 * path and the stream are allocated.
 *
 * @param [in] folder  Where the file is; "" if its name is a path.
 * @param [in] name    The rest of the path, with a slash in front.
 * @param [in] format  Of sscanf(3).
 * @return how many values of the line were read; 0 if there is no such line, or no file.
 */
int ucs_scan_file(const char *folder, const char *name, const char *format, ...)
        __attribute__((format(scanf, 3, 4)));

END_C_DECLS

#endif
