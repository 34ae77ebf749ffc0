/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_ACCESS_H_
#define UCP_FH_ACCESS_H_

#include "worker.h"

/** @file access.h
 *
 * Puts, gets, atomics and flushes, as the program calls them. */

/** Go on with the operations of a worker whose firehoses are there, and begin
 *  flushes that have waited for them. */
void ucp_fh_access_resume(ucp_fh_worker_h worker);

/** Begin a flush of all that was begun on a worker.
 *
 *  @param [in] op  A flush that is not begun. It is gone if this returns no
 *                  request.
 *  @return as ucp_fh_flush_nbx(). */
ucs_status_ptr_t ucp_fh_access_flush(ucp_fh_op_t *op);

#endif
