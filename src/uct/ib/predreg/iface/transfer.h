/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_TRANSFER_H_
#define UCT_PREDREG_TRANSFER_H_

#include "copy.h"
#include "pieces_memh.h"
#include "wrapped.h"

/** @file transfer.h
 *
 * Transfers whose local memory is registered piece by piece. Two pieces are in
 * flight at a time: when one of them has landed it is deregistered, and the
 * next one is registered and posted, while the other one keeps the adapter
 * busy. So the adapter need not wait for registrations, and no work is handed
 * to another thread.
 *
 * A transfer waits in line if it finds no room within the bounds, if the system
 * refuses memory, or if there is no place in the send queue. The lines are
 * served when the worker makes progress. How many wait does not matter there:
 * for room only the first one in line asks, and only if room was given back
 * since it was refused, or some time has passed; for a place in the send queue
 * a few ask, in turn.
 *
 * Only the thread that is in the interface may call these functions.
 */

/**
 * Move the data of a use piece by piece.
 *
 * @param [in] post         The interface's ep_get_zcopy or ep_put_zcopy, which
 *                          moves a registered piece.
 * @param [in] copy         Copies what is left once a piece has shown that the memory
 *                          cannot be registered.
 * @param [in] iov          One buffer, with a pieces handle.
 * @param [in] remote_addr  Address of the data at the peer.
 * @param [in] comp         Completed once if UCS_INPROGRESS is returned, else
 *                          not touched.
 * @return UCS_INPROGRESS; UCS_OK if all pieces landed at once; or the error
 *         that made the transfer fail at once.
 */
ucs_status_t
uct_predreg_transfer_start(uct_predreg_iface_t *iface,
                           uct_ep_get_zcopy_func_t post,
                           uct_predreg_copy_func_t copy, uct_ep_h ep,
                           const uct_iov_t *iov, uint64_t remote_addr,
                           uct_rkey_t rkey, uct_completion_t *comp);

/** End the transfers of an endpoint with UCS_ERR_CANCELED. A transfer with
 *  pieces in flight ends when these have landed. */
void uct_predreg_transfer_cancel(uct_predreg_iface_t *iface, uct_ep_h ep);

/** End all transfers of an interface with UCS_ERR_CANCELED.
 *
 * @param [in] closed  Whether the interface is closed by now: pieces in flight
 *                     will never land, so that transfers do not wait for
 *                     them. */
void uct_predreg_transfer_cancel_all(uct_predreg_iface_t *iface, int closed);

/** Serve the lines. @return how many transfers no longer wait. */
unsigned uct_predreg_transfer_retry(uct_predreg_iface_t *iface);

/** @return whether no transfer waits in line. */
int uct_predreg_transfer_is_idle(uct_predreg_iface_t *iface);

#endif
