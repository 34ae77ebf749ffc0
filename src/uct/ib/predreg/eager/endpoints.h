/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ENDPOINTS_H_
#define UCT_PREDREG_ENDPOINTS_H_

#include <uct/ib/predreg/core/comm.h>
#include <uct/ib/predreg/core/sender.h>

#include <ucp/api/ucp.h>

#include <stddef.h>

/** @file endpoints.h
 *
 * Remembers which messages go otherwise than without a copy in spite of all, so
 * that no buffer is registered for them: transports within a node copy, and UCP
 * sends by rendezvous from a length on that it does not tell. Both are found out
 * when a message from a registered buffer is sent without having been seen at a
 * transport's zero-copy operation. Such messages are left alone.
 */

/** @return which lengths of messages of an endpoint may go without a copy, of
 *  those from min_length to max_length. */
uct_predreg_sender_range_t
uct_predreg_endpoint_lengths(ucp_ep_h ep, uct_predreg_message_t message,
                             size_t min_length, size_t max_length);

/** A message was copied, as are all that are not longer. */
void uct_predreg_endpoint_copies(ucp_ep_h ep, uct_predreg_message_t message,
                                 size_t length);

/** A message was sent by rendezvous, as are all that are not shorter. */
void uct_predreg_endpoint_has_rndv(ucp_ep_h ep, uct_predreg_message_t message,
                                   size_t length);

/** Forget all endpoints, and what senders remember. */
void uct_predreg_endpoints_forget(void);

#endif
