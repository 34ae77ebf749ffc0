/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_COMMON_NUMBER_H_
#define PREDREG_COMMON_NUMBER_H_

#include <ucs/sys/compiler_def.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file number.h
 *
 * Reads numbers of options, which are not 0. Every sub-command may call this.
 */

/** Read a positive whole number. @return the number, or 0 if @a text is
 *  anything else, or a number above @a max. */
long predreg_number(const char *text, long max);

/** Read a positive number with a unit, as knobs have it: 64m, 64MiB.
 *  @return the number, or 0 if @a text is anything else, or does not fit. */
uint64_t predreg_bytes(const char *text);

END_C_DECLS

#endif
