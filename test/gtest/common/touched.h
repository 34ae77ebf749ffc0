/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_TOUCHED_H_
#define PREDREG_GTEST_TOUCHED_H_

#include <ucs/sys/compiler_def.h>

#include <stddef.h>

BEGIN_C_DECLS

/* Count the pages of some memory that a function reads or writes: what it costs beside
 * a large table, without a clock. Of one range at a time, by one thread */

/* From now on, pages that are all within the range are counted. */
void test_touched_start(void *start, size_t length);

/* @return how many of them were touched since then. */
unsigned test_touched_stop(void);

END_C_DECLS

#endif
