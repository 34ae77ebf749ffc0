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
 * Reads numbers as people type them, and as the tools of the project print
 * them. UCX's own functions stop at the first character other than a digit,
 * accept a sign, and turn numbers that do not fit into others. Pure.
 */

/**
 * Read a whole number: decimal digits and nothing else.
 *
 * @param [in] is_bytes  Whether a unit may follow: b, k, m, g or t, in letters of any
 *                       case; but for b, B or iB may follow: 64m, 64MB, 64MiB.
 * @return whether the text is such a number, and fits.
 */
int ucs_number_parse(const char *text, int is_bytes, unsigned long *value_p);

END_C_DECLS

#endif
