/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef TEST_NATIVE_ACCOUNT_H_
#define TEST_NATIVE_ACCOUNT_H_

#include <stddef.h>

/** @file account.h
 *
 * What this process has had pinned in the native rig, and how often it was
 * asked to pin. If NATIVE_STAT names a file, a line of JSON is appended to it
 * when the process exits. Whoever registers, UCX's cache or the library under
 * test, is counted in the same way.
 *
 * Any thread may call these functions.
 */

/** The first domain was opened: averages are over the time from here on. */
void account_begin(void);

/** A domain was opened, and account_begin() was called. */
void account_opened(void);

/** A domain was closed. The time of the account ends with the last one:
 *  programs may take a while to exit, which under Open MPI 4.1 can be a second. */
void account_closed(void);

/** Memory was registered in this domain of UCT. It may have been pinned before,
 *  in UCX's cache. */
void account_use(void);

/** Bytes were pinned; the adapter took so many seconds for it. */
void account_pinned(size_t bytes, double adapter_seconds);

/** Likewise, they were released. */
void account_released(size_t bytes, double adapter_seconds);

/** In a forked child: start anew. Nothing is counted there before
 *  account_begin() is called again. */
void account_forked(void);

#endif
