/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_REQUEST_H_
#define UCP_FH_REQUEST_H_

#include "entry.h"

/** @file request.h
 *
 * What a request has of the remote table, from its begin to its end. Everything
 * is called under the lock of the table.
 */

/** Whether all buckets of a run would be a hit, those that others have reaped
 *  included. */
static UCS_F_ALWAYS_INLINE int
ucp_fh_run_is_hit(const ucp_fh_peer_t *peer, const ucp_fh_run_t *run)
{
    uint64_t i;

    for (i = 0; i < run->num; ++i) {
        if (!ucp_fh_entry_is_hit(ucp_fh_entry_find(peer, run->first + i))) {
            return 0;
        }
    }

    return 1;
}

/** Whether all buckets of a run are held by requests that were granted. */
static inline int
ucp_fh_run_is_held(const ucp_fh_peer_t *peer, const ucp_fh_run_t *run)
{
    const ucp_fh_entry_t *entry;
    uint64_t i;

    for (i = 0; i < run->num; ++i) {
        entry = ucp_fh_entry_find(peer, run->first + i);
        if ((entry == NULL) || (entry->holds == 0)) {
            return 0;
        }
    }
    return 1;
}

/** Begin to wait for firehoses. */
void ucp_fh_request_wait(ucp_fh_request_t *request);

/** A request that waits gives back what it has, and begins anew. */
void ucp_fh_request_roll_back(ucp_fh_request_t *request);

/** Use an entry that is pending or present, even if another request has reaped
 *  it, which rolls back then. */
void ucp_fh_request_hold(ucp_fh_request_t *request, ucp_fh_entry_t *entry);

/** A request that has all its entries no longer waits: its firehoses are to be
 *  moved. It is granted if none of its entries is pending. */
void ucp_fh_request_commit(ucp_fh_request_t *request);

/** Find out whether an active request still has a pending bucket, in which case
 *  it waits for that. Else it is granted. */
void ucp_fh_request_advance(ucp_fh_request_t *request);

/** A request that is waiting or active leaves the table. */
void ucp_fh_request_leave(ucp_fh_request_t *request);

/** The same, with an error, and its completion's function is to be called. */
void ucp_fh_request_fail(ucp_fh_request_t *request, ucs_status_t status);

#endif
