/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_ACQUIRE_H_
#define UCP_FH_ACQUIRE_H_

#include "request.h"

/** @file acquire.h
 *
 * How a request gets its firehoses, and the deadlock-avoidance bit (section 4.1
 * and Figures 5 and 6 of the paper). Under the lock of the table.
 */

/**
 * Try to get all firehoses of a request that waits. It commits if it gets them.
 *
 * @return UCS_OK if it has committed; UCS_INPROGRESS if it still waits; or
 *         UCS_ERR_NO_MEMORY, after which it has to leave.
 */
ucs_status_t ucp_fh_acquire_attempt(ucp_fh_request_t *request);

/** Firehoses of a peer may have been freed, or nobody is left who could free
 *  any: try the requests that wait. */
void ucp_fh_acquire_settle(ucp_fh_peer_t *peer);

#endif
