/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_THREAD_H_
#define UCP_FH_THREAD_H_

#include <ucp/firehose/core/state.h>

/** @file thread.h
 *
 * The library's worker and the thread that progresses it: it answers peers
 * whether or not the program calls the library. It sleeps while nothing
 * happens. */

/** Make the worker, and have its messages received. */
ucs_status_t ucp_fh_thread_create_worker(ucp_fh_t *fh);

void ucp_fh_thread_destroy_worker(ucp_fh_t *fh);

/** @return UCS_ERR_NO_RESOURCE if the system has no room for a thread. */
ucs_status_t ucp_fh_thread_start(ucp_fh_t *fh);

void ucp_fh_thread_stop(ucp_fh_t *fh);

#endif
