/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_TRANSFER_H_
#define UCT_PREDREG_TRANSFER_H_

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
 * A transfer waits if it finds no room within the bounds, if the system refuses
 * memory, or if there is no place in the send queue. It is tried again each
 * time its worker makes progress.
 *
 * Only the thread that is in the interface may call these functions, unless
 * their comments say otherwise.
 */

/**
 * Move the data of a use piece by piece.
 *
 * @param [in] post         The interface's ep_get_zcopy or ep_put_zcopy, which
 *                          moves a registered piece.
 * @param [in] iov          One buffer, with a pieces handle.
 * @param [in] remote_addr  Address of the data at the peer.
 * @param [in] comp         Completed once if UCS_INPROGRESS is returned, else
 *                          not touched.
 * @return UCS_INPROGRESS; UCS_OK if all pieces landed at once; or the error
 *         that made the transfer fail at once.
 */
ucs_status_t
uct_predreg_transfer_start(uct_predreg_iface_t *iface,
                           uct_ep_get_zcopy_func_t post, uct_ep_h ep,
                           const uct_iov_t *iov, uint64_t remote_addr,
                           uct_rkey_t rkey, uct_completion_t *comp);

/** @return whether there is a transfer that started before the one of this
 *  number (counted as uct_predreg_iface_t.started) and has not ended: of this
 *  endpoint, or of any endpoint if it is NULL. */
int uct_predreg_transfer_is_before(uct_predreg_iface_t *iface, uct_ep_h ep,
                                   uint64_t number);

/** @return whether there is a transfer of this endpoint, or of any endpoint if
 *  it is NULL, that has not ended. */
int uct_predreg_transfer_is_active(uct_predreg_iface_t *iface, uct_ep_h ep);

/** End the transfers of an endpoint, or of all endpoints if it is NULL, with
 *  UCS_ERR_CANCELED. A transfer with pieces in flight ends when these have
 *  landed. */
void uct_predreg_transfer_cancel(uct_predreg_iface_t *iface, uct_ep_h ep);

/** Try each waiting transfer once more. @return how many transfers no longer
 *  wait. */
unsigned uct_predreg_transfer_retry(uct_predreg_iface_t *iface);

/** @return whether no transfer of this process waits. A transfer may wait for
 *  something that is no event of UCX, so a program that slept until the next
 *  event might never wake up. Any thread may call this. */
int uct_predreg_may_sleep(void);

#endif
