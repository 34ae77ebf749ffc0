/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_PEER_H_
#define UCP_FH_PEER_H_

#include "state.h"

/** @file peer.h
 *
 * The end of a peer. */

/**
 * A peer is gone: what it had is given back, what was asked of it fails with
 * this status. The first reason counts. Under ucp_fh::lock; ucp_fh_settle() has
 * to follow.
 */
void ucp_fh_peer_fail(ucp_fh_t *fh, uint32_t slot, ucs_status_t status);

/** Post the last message to a peer, if it may have others: this process ends, or
 *  gives it up. Under ucp_fh::lock; ucp_fh_settle() has to follow. */
void ucp_fh_peer_bye(ucp_fh_t *fh, uint32_t slot);

/** There is no memory to go on with a peer. As ucp_fh_peer_fail(), with
 *  UCS_ERR_UNREACHABLE, and the peer is told, so that it does not wait for what does
 *  not come. */
void ucp_fh_peer_give_up(ucp_fh_t *fh, uint32_t slot);

/** A peer has sent what is not understood: that is its end for this process.
 *  Under ucp_fh::lock. */
void ucp_fh_peer_damaged(ucp_fh_t *fh, uint32_t slot, const char *what);

/** @return the error handler of endpoints to a peer, for a worker that calls it
 *          without ucp_fh::lock. Its argument is a ucp_fh_peer_arg_t. */
void ucp_fh_peer_error(void *arg, ucp_ep_h ep, ucs_status_t status);


/**
 * Make an endpoint to the worker of a peer's library, which tells when the peer
 * is gone if its transports can.
 *
 * @param [in]  arg               Stays where it is as long as the endpoint.
 * @param [out] has_no_handler_p  Whether it does not tell.
 */
ucs_status_t ucp_fh_peer_ep(ucp_worker_h worker, const ucp_address_t *address,
                            ucp_fh_peer_arg_t *arg, ucp_ep_h *ep_p,
                            int *has_no_handler_p);

#endif
