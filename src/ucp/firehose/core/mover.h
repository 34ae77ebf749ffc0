/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_MOVER_H_
#define UCP_FH_MOVER_H_

#include "state.h"

/** @file mover.h
 *
 * Messages about firehoses that this process has: those that move them, their
 * answers, and what peers want back. */

/** Post the message of a move that was taken out of the remote table. Under
 *  ucp_fh::lock. */
void ucp_fh_mover_post(ucp_fh_t *fh, ucp_fh_move_t *move);

/** A peer has answered. Without lock; ucp_fh_settle() has to follow.
 *
 *  @return UCS_ERR_INVALID_PARAM if the message is damaged, or answers none of
 *          this process. */
ucs_status_t ucp_fh_mover_reply(ucp_fh_t *fh, const ucp_fh_parcel_t *parcel);

/** A peer wants firehoses back. As ucp_fh_mover_reply(). */
ucs_status_t ucp_fh_mover_recall(ucp_fh_t *fh, const ucp_fh_parcel_t *parcel);

#endif
