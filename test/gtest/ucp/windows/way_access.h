/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_WIN_WAY_ACCESS_H_
#define PREDREG_GTEST_WIN_WAY_ACCESS_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/thread_mode.h>
#include <ucp/api/ucp_def.h>

BEGIN_C_DECLS

/* The program's workers for tests in C++, which has no C atomics */

/* Nothing is known yet. */
void test_win_reset(void);

void test_win_context_add(ucp_context_h context, int is_shared);
void test_win_worker_add(ucp_context_h context, ucp_worker_h worker,
                         ucs_thread_mode_t mode);

/* @return whether a thread in a call for a context may use a worker. */
int test_win_is_usable(ucp_context_h context, ucp_worker_h worker);

END_C_DECLS

#endif
