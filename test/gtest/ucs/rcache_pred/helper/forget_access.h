/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_FORGET_ACCESS_H_
#define PREDREG_GTEST_FORGET_ACCESS_H_

#include <ucs/sys/compiler_def.h>

#include <stdint.h>

BEGIN_C_DECLS

/* Called when the cache is about to forget a region, after it has let go of its
 * lock: what is done here is what another thread may do at that moment. */
typedef void (*test_forget_func_t)(uintptr_t start, void *arg);

/* From now on; NULL: nothing is called */
void test_set_on_forget(test_forget_func_t func, void *arg);

/* @return how often threads have taken the lock of a cache that has lanes */
unsigned test_num_locks(void);

END_C_DECLS

#endif
