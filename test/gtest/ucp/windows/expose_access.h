/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_WIN_EXPOSE_ACCESS_H_
#define PREDREG_GTEST_WIN_EXPOSE_ACCESS_H_

#include <ucs/type/status.h>

#include <stddef.h>

/** @file expose_access.h
 *
 * Windows over functions of UCP and of Firehose that only count: none has memory. */

/** What is there of memory that was mapped, but for what was undone. */
typedef struct {
    int        num_mapped;  /**< By ucp_mem_map(), and by that of the environment */
    int        num_exposed; /**< In Firehose */
    const char *why_pinned; /**< NULL: nothing was said to be pinned */
} test_win_exposed_t;

/** Begin with no window. Keys have an address of so many bytes, 1 to 4096, and of UCP's own
 *  key parts of so many, 0 to 255, of 1 to 64 domains, none of which is managed. */
void test_win_expose_begin(size_t address, size_t part, unsigned num_domains);

/** To be called before another test. */
void test_win_expose_end(void);

/** Map 2 MiB that are buckets.
 *
 *  @param [out] memh_p  The handle of it, if it was made a window.
 *  @return whether it was. */
int test_win_expose_map(void **memh_p);

/** Pack the key of a window. @return its bytes, which are read as a key first; 0: it is
 *  none. */
size_t test_win_expose_pack(void *memh);

void test_win_expose_unmap(void *memh);

test_win_exposed_t test_win_exposed(void);

#endif
