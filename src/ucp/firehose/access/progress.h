/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_PROGRESS_H_
#define UCP_FH_PROGRESS_H_

#include "worker.h"

/** @file progress.h
 *
 * What goes on on a worker: by ucp_fh_worker_progress(), and by the library's
 * thread for workers that any thread may use. */

/** @return whether a worker that any thread may use has something that does not
 *          wait for the program. Under ucp_fh::lock. */
int ucp_fh_worker_is_busy(ucp_fh_worker_h worker);

/** Go on with a worker, as ucp_fh_worker_progress() does, but for what the
 *  library's thread does anyway.
 *
 *  @param [out] is_waiting_p  Whether an operation waits for firehoses.
 *  @return what was done, in UCP's count. */
unsigned ucp_fh_worker_go_on(ucp_fh_worker_h worker, int *is_waiting_p);

#endif
