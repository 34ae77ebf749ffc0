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
 * One-sided operations for whose local buffers there is no room. They cannot go
 * piece by piece, as messages do: an operation that comes after a fence must
 * not be in the send queue before them, hence all of it has to be there when
 * UCP has handed it over. So they are copied through UCX's bounce buffers, a
 * fragment after the other. When the send queue is full UCP is told so; it
 * comes again with the same operation, which goes on from where it stopped.
 *
 * For the thread that is in the interface.
 */

/**
 * Copy a put's or a get's data.
 *
 * @param [in] iov   One buffer, with a pieces handle.
 * @param [in] comp  Completed once if UCS_INPROGRESS is returned.
 * @return UCS_ERR_NO_RESOURCE: to be called again with the same operation;
 *         UCS_OK: done, comp is not touched; or what the interface returned.
 */
typedef ucs_status_t
(*uct_predreg_copy_func_t)(uct_predreg_iface_t *iface, uct_ep_h ep,
                           const uct_iov_t *iov, uint64_t remote_addr,
                           uct_rkey_t rkey, uct_completion_t *comp);

/** A put, see @ref uct_predreg_copy_func_t. Never UCS_INPROGRESS: the data has
 *  been copied out of the buffer when all of it is posted. */
ucs_status_t uct_predreg_copy_put(uct_predreg_iface_t *iface, uct_ep_h ep,
                                  const uct_iov_t *iov, uint64_t remote_addr,
                                  uct_rkey_t rkey, uct_completion_t *comp);

/** A get, see @ref uct_predreg_copy_func_t. UCS_ERR_NO_MEMORY if what keeps
 *  track of its fragments cannot be allocated. */
ucs_status_t uct_predreg_copy_get(uct_predreg_iface_t *iface, uct_ep_h ep,
                                  const uct_iov_t *iov, uint64_t remote_addr,
                                  uct_rkey_t rkey, uct_completion_t *comp);

/** Let go of an operation that was not posted to its end: UCP takes its buffer
 *  back. Fragments of a get that are on their way are dropped on arrival. */
void uct_predreg_copy_cancel(uct_predreg_pieces_memh_t *pieces);

#endif
