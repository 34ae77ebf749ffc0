/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_TARGET_H_
#define UCP_FH_TARGET_H_

#include "state.h"

/** @file target.h
 *
 * Firehoses that peers have to this process. */

/** A peer moves firehoses. Without lock; ucp_fh_settle() has to follow.
 *
 *  @return UCS_ERR_INVALID_PARAM if the message is damaged, or the peer out of
 *          step. */
ucs_status_t ucp_fh_target_move(ucp_fh_t *fh, const ucp_fh_parcel_t *parcel);

/** Ask all who have firehoses on what was withdrawn, or picked, last to give these back.
 *  Under ucp_fh::lock. */
void ucp_fh_target_recall(ucp_fh_t *fh, const ucp_fh_run_t *run);

#endif
