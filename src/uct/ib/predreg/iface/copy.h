/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_COPY_H_
#define UCT_PREDREG_COPY_H_

#include "pieces_memh.h"
#include "wrapped.h"

/** @file copy.h
 *
 * Operations whose data is copied through UCX's bounce buffers, one fragment after
 * the other: one-sided ones whose local buffers could not be registered for lack of
 * room, and those of memory that cannot be registered. One-sided operations cannot
 * go piece by piece, as messages do: all of an operation has to be in the send queue
 * before a fence that UCP issues after it. If the send queue is full, the caller is
 * told so and calls again with the same operation, which then goes on from where it
 * stopped.
 *
 * Only the thread that is in the interface may call these functions.
 */

/**
 * Copy the data of a put or a get.
 *
 * @param [inout] copy  How far it has got. One operation at a time gets on: another
 *                      one gives up what is stuck.
 * @param [in] iov   One buffer. Its handle is not looked at.
 * @param [in] comp  Completed once if UCS_INPROGRESS is returned.
 * @return UCS_ERR_NO_RESOURCE if the caller has to call again with the same
 *         operation; UCS_OK if all is done, and comp was not touched; or what
 *         the interface returned.
 */
typedef ucs_status_t
(*uct_predreg_copy_func_t)(uct_predreg_iface_t *iface,
                           uct_predreg_copy_t *copy, uct_ep_h ep,
                           const uct_iov_t *iov, uint64_t remote_addr,
                           uct_rkey_t rkey, uct_completion_t *comp);

/** Copy a put, see @ref uct_predreg_copy_func_t. It never returns
 *  UCS_INPROGRESS, because the data has been copied out of the buffer when all
 *  of it is posted. */
ucs_status_t uct_predreg_copy_put(uct_predreg_iface_t *iface,
                                  uct_predreg_copy_t *copy, uct_ep_h ep,
                                  const uct_iov_t *iov, uint64_t remote_addr,
                                  uct_rkey_t rkey, uct_completion_t *comp);

/** Copy a get, see @ref uct_predreg_copy_func_t. It returns UCS_ERR_NO_MEMORY
 *  if it cannot allocate the structure that keeps track of its fragments. */
ucs_status_t uct_predreg_copy_get(uct_predreg_iface_t *iface,
                                  uct_predreg_copy_t *copy, uct_ep_h ep,
                                  const uct_iov_t *iov, uint64_t remote_addr,
                                  uct_rkey_t rkey, uct_completion_t *comp);

/** Give up an operation that was not posted to its end, because UCP takes its
 *  buffer back. Fragments of a get that are still on their way are dropped when
 *  they arrive. */
void uct_predreg_copy_cancel(uct_predreg_copy_t *copy);

#endif
