/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */


#ifndef UCS_SCAN_H_
#define UCS_SCAN_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file scan.h
 *
 * Reads small files of the kernel in /proc and /sys: lines such as "VmPin: 12 kB", or a
 * single number. Any thread, but not in memory hooks: the C library allocates the stream.
 */

/**
 * Find the first line of a file that begins as a format says, and read the values of the
 * line.
 *
 * @param [in] format  Of sscanf(3).
 * @return how many values of the line were read; 0 if there is no such line, or no file.
 */
int ucs_scan_file(const char *path, const char *format, ...)
        __attribute__((format(scanf, 2, 3)));

END_C_DECLS

#endif
