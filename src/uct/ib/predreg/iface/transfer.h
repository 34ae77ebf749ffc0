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
 * flight at a time: when one has landed it is deregistered, and the next one
 * registered and posted, while the other one keeps the adapter busy. Nobody
 * hands anything to another thread; the adapter does not wait while the next
 * piece is registered.
 *
 * A transfer waits if it finds no room within the bounds, if the system refuses
 * memory, or if there is no place in the send queue. It tries again each time
 * its worker makes progress.
 *
 * For the thread that is in the interface, where nothing else is said.
 */

/**
 * Move a use's data piece by piece.
 *
 * @param [in] post         The interface's ep_get_zcopy or ep_put_zcopy, which
 *                          moves a registered piece.
 * @param [in] iov          One buffer, with a pieces handle.
 * @param [in] remote_addr  Where its peer is.
 * @param [in] comp         Completed once if UCS_INPROGRESS is returned, and
 *                          else not touched.
 * @return UCS_INPROGRESS; UCS_OK if all pieces landed at once; or what made the
 *         transfer fail at once.
 */
ucs_status_t
uct_predreg_transfer_start(uct_predreg_iface_t *iface,
                           uct_ep_get_zcopy_func_t post, uct_ep_h ep,
                           const uct_iov_t *iov, uint64_t remote_addr,
                           uct_rkey_t rkey, uct_completion_t *comp);

/** Whether a transfer of the endpoint, or of any if it is NULL, has not ended
 *  that started before the one of this number (uct_predreg_iface_t.started). */
int uct_predreg_transfer_is_before(uct_predreg_iface_t *iface, uct_ep_h ep,
                                   uint64_t number);

/** Whether a transfer of the endpoint, or of any if it is NULL, has not
 *  ended. */
int uct_predreg_transfer_is_active(uct_predreg_iface_t *iface, uct_ep_h ep);

/** End the endpoint's transfers, or all if it is NULL, with UCS_ERR_CANCELED;
 *  those in flight when they have landed. */
void uct_predreg_transfer_cancel(uct_predreg_iface_t *iface, uct_ep_h ep);

/**
 * Try again what waits.
 *
 * @param [out] waiting_p  Whether some still wait.
 * @return how many got on.
 */
unsigned uct_predreg_transfer_retry(uct_predreg_iface_t *iface,
                                    int *waiting_p);

/** Whether no transfer of this process waits: what it waits for is no event of
 *  UCX, so a program that sleeps until there is one would not wake up. Any
 *  thread. */
int uct_predreg_may_sleep(void);

#endif
