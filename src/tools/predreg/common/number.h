/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_COMMON_NUMBER_H_
#define PREDREG_COMMON_NUMBER_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file number.h
 *
 * Numbers as people type them. Every sub-command may call it; it calls nothing
 * of ours.
 */

/** A whole number, and nothing else. @return 0 if @a text is none, or one above
 *  @a max. */
long predreg_number(const char *text, long max);

END_C_DECLS

#endif
