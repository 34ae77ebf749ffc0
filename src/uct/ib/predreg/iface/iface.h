/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_IFACE_H_
#define UCT_PREDREG_IFACE_H_

#include <ucs/datastruct/list.h>

#include <uct/api/uct.h>

#include <stdatomic.h>

/** @file iface.h
 *
 * Transport interfaces on managed memory domains. Some of their operations are
 * replaced by ours, which understand pieces memory handles (pieces_memh.h) and pass
 * everything else on.
 *
 * Threads: as UCT demands of its interfaces, one at a time may be in an
 * interface's functions, its worker's progress included. What belongs to an
 * interface is touched there only and needs no lock.
 */

/** An interface whose operations were replaced. */
typedef struct uct_predreg_iface {
    /** Key. Written under core.lock, last; NULL: free. Read without: a thread
     *  that uses an interface has been handed it after it was opened. */
    _Atomic(uct_iface_h) iface;
    uct_iface_ops_t      ops;        /**< The operations it came with */
    uct_worker_h         worker;
    size_t               min_zcopy;  /**< Least that ep_get_zcopy and
                                          ep_put_zcopy take, bytes */
    size_t               max_put;    /**< Bytes that ep_put_bcopy takes */
    size_t               max_get;    /**< Bytes that ep_get_bcopy takes */

    ucs_list_link_t      transfers;  /**< Not yet ended, see transfer.c */
    ucs_list_link_t      flushes;    /**< Waiting for transfers to end */
    unsigned             round;      /**< Of trying again what waits */
    uint64_t             started;    /**< Transfers ever */
    uct_worker_cb_id_t   progress;   /**< Of what waits; if nothing does
                                          UCS_CALLBACKQ_ID_NULL */
} uct_predreg_iface_t;


/**
 * Replace the operations of a new interface. Under core.lock.
 *
 * @return UCS_ERR_UNSUPPORTED if it has an operation that could be handed a
 *         pieces handle and does not understand it; UCS_ERR_EXCEEDS_LIMIT if there are
 *         too many interfaces. It is left as it is then, and pieces handles must
 *         not be given out in its domain.
 */
ucs_status_t uct_predreg_iface_wrap(uct_iface_h iface, uct_worker_h worker);

/** In a forked child: none of the parent's interfaces is here. */
void uct_predreg_ifaces_reset(void);

/* copy.c */

/** A put or get of a use in pieces, by way of UCX's bounce buffers. A put completes at
 *  once, and does not touch comp. */
typedef ucs_status_t
(*uct_predreg_copy_func_t)(uct_predreg_iface_t *iface, uct_ep_h ep,
                           const uct_iov_t *iov, uint64_t remote_addr,
                           uct_rkey_t rkey, uct_completion_t *comp);

ucs_status_t uct_predreg_copy_put(uct_predreg_iface_t *iface, uct_ep_h ep,
                                  const uct_iov_t *iov, uint64_t remote_addr,
                                  uct_rkey_t rkey, uct_completion_t *comp);
ucs_status_t uct_predreg_copy_get(uct_predreg_iface_t *iface, uct_ep_h ep,
                                  const uct_iov_t *iov, uint64_t remote_addr,
                                  uct_rkey_t rkey, uct_completion_t *comp);

/* transfer.c */

/**
 * Move a use in pieces's data piece by piece.
 *
 * @param [in] post  The interface's ep_get_zcopy or ep_put_zcopy, of which the
 *                   other arguments are.
 */
ucs_status_t
uct_predreg_transfer_start(uct_predreg_iface_t *iface,
                           uct_ep_get_zcopy_func_t post, uct_ep_h ep,
                           const uct_iov_t *iov, uint64_t remote_addr,
                           uct_rkey_t rkey, uct_completion_t *comp);

/** Whether a transfer of the endpoint, or of any if NULL, has not ended. */
int uct_predreg_transfer_is_active(uct_predreg_iface_t *iface, uct_ep_h ep);

/** Whether no transfer of this process waits for room or a place in the send
 *  queue. Any thread. */
int uct_predreg_may_sleep(void);

/** End the endpoint's transfers with UCS_ERR_CANCELED, those in flight when
 *  they have landed. */
void uct_predreg_transfer_cancel(uct_predreg_iface_t *iface, uct_ep_h ep);

/** Flush the endpoint when its transfers have ended. */
ucs_status_t uct_predreg_transfer_flush(uct_predreg_iface_t *iface, uct_ep_h ep,
                                        unsigned flags, uct_completion_t *comp);

/** The endpoint goes: nothing waits for it any more. */
void uct_predreg_transfer_forget_ep(uct_predreg_iface_t *iface, uct_ep_h ep);

#endif
