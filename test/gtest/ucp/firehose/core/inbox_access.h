/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_FH_INBOX_ACCESS_H_
#define PREDREG_GTEST_FH_INBOX_ACCESS_H_

#include <ucs/sys/compiler_def.h>

#include <stdint.h>

BEGIN_C_DECLS

/* Inboxes for tests in C++, which has no C atomics: those of so many processes, all of
 * which are connected */

typedef struct ucp_fh test_inbox_t;

test_inbox_t *test_inbox_make(uint32_t num_procs);
void test_inbox_free(test_inbox_t *fh);

/* A message of a process has come. */
void test_inbox_receive(test_inbox_t *fh, uint32_t sender, uint64_t number);

/* @return number of the process whose message is next, or UINT32_MAX. */
uint32_t test_inbox_next(test_inbox_t *fh, uint64_t *number_p);

/* The last message that was taken is put back. */
void test_inbox_put_back(test_inbox_t *fh);

/* Begin to count the pages of what is known of processes that are looked at, by
 * common/touched.h. */
void test_inbox_count(test_inbox_t *fh);

END_C_DECLS

#endif
