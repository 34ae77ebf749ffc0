/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_INBOX_H_
#define UCP_FH_INBOX_H_

#include "state.h"

/** @file inbox.h
 *
 * Messages that have come, until it is their turn: UCP may deliver those of a
 * peer in another order than the one in which they were posted. */

/** Receives an active message; its argument is the ucp_fh_t. Called by UCP, under
 *  ucp_fh::send_lock. */
ucs_status_t
ucp_fh_inbox_receive(void *arg, const void *header, size_t header_length,
                     void *data, size_t length,
                     const ucp_am_recv_param_t *param);

/** A peer may have a message whose turn it is: it has sent one, or is connected. Under
 *  ucp_fh::lock. */
void ucp_fh_inbox_look(ucp_fh_t *fh, ucp_fh_link_t *link);

/** Take a message whose turn it is, of the peer whose last turn was longest ago. The
 *  next one of the same peer may be handled only when this one has been. Takes the same
 *  time however many processes there are. Under ucp_fh::drive_lock.
 *
 *  @return the message, to be freed, or NULL if there is none. */
ucp_fh_parcel_t *ucp_fh_inbox_next(ucp_fh_t *fh);

/** A message was taken that cannot be handled now: it is the next one of its peer
 *  again. Under ucp_fh::drive_lock. */
void ucp_fh_inbox_put_back(ucp_fh_t *fh, ucp_fh_parcel_t *parcel);

#endif
