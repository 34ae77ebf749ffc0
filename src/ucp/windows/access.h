/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_WIN_ACCESS_H_
#define UCP_WIN_ACCESS_H_

#include "remote.h"

/** @file access.h
 *
 * Puts, gets, atomics and flushes of the program. They go through its own
 * endpoint, with keys to buckets in place of its key to the window: so order,
 * completion, requests and threads are UCP's. What meets more than one bucket
 * goes in parts, and its request is that of a flush.
 *
 * Each stands for the function of UCP whose name it has after ucp_win_. */

ucs_status_ptr_t ucp_win_put_nbx(ucp_ep_h ep, const void *buffer, size_t count,
                                 uint64_t remote_addr, ucp_rkey_h rkey,
                                 const ucp_request_param_t *param);

ucs_status_ptr_t ucp_win_get_nbx(ucp_ep_h ep, void *buffer, size_t count,
                                 uint64_t remote_addr, ucp_rkey_h rkey,
                                 const ucp_request_param_t *param);

ucs_status_t ucp_win_put_nbi(ucp_ep_h ep, const void *buffer, size_t length,
                             uint64_t remote_addr, ucp_rkey_h rkey);

ucs_status_t ucp_win_get_nbi(ucp_ep_h ep, void *buffer, size_t length,
                             uint64_t remote_addr, ucp_rkey_h rkey);

ucs_status_ptr_t
ucp_win_atomic_op_nbx(ucp_ep_h ep, ucp_atomic_op_t opcode, const void *buffer,
                      size_t count, uint64_t remote_addr, ucp_rkey_h rkey,
                      const ucp_request_param_t *param);

/** Flush a worker or, if that is not NULL, an endpoint. */
ucs_status_ptr_t ucp_win_flush_nbx(ucp_worker_h worker, ucp_ep_h ep,
                                   const ucp_request_param_t *param);

#endif
