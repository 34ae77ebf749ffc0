/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_REMOTE_INT_H_
#define UCP_FH_REMOTE_INT_H_

#include "remote.h"

/** @file remote_int.h
 *
 * Inside the remote table: its entries (entry.c), and how requests get, wait for
 * and return firehoses (request.c). Under the lock of the table. */

/** @return the entry of a bucket, or NULL. */
static UCS_F_ALWAYS_INLINE ucp_fh_entry_t *
ucp_fh_entry_find(const ucp_fh_peer_t *peer, ucp_fh_bucket_t bucket)
{
    ucs_hlist_head_t *head = ucs_bucket(
            &peer->table->entries, ucp_fh_bucket_key(peer->index, bucket));
    ucp_fh_entry_t *entry;

    ucs_hlist_for_each(entry, head, hash) {
        if ((entry->bucket == bucket) && (entry->peer == peer)) {
            return entry;
        }
    }

    return NULL;
}

/** @return whether a hit may use an entry. */
static UCS_F_ALWAYS_INLINE int
ucp_fh_entry_is_hit(const ucp_fh_entry_t *entry)
{
    return (entry != NULL) && (entry->state == UCP_FH_ENTRY_PRESENT) &&
           !entry->is_recalled;
}

/** @return the number of a peer's firehoses that are free or belong to idle entries. */
static inline uint32_t ucp_fh_peer_available(const ucp_fh_peer_t *peer)
{
    return peer->limit - peer->used + peer->num_idle;
}

/** Begin a use of an entry that is pending or present and not reaped. A present entry
 *  stays in the victim FIFO: to take it out, and to put it back later, would access its
 *  neighbours in the list, and these are seldom in a cache of the processor. */
static UCS_F_ALWAYS_INLINE void ucp_fh_entry_hold(ucp_fh_entry_t *entry)
{
    if ((entry->uses++ == 0) && (entry->state == UCP_FH_ENTRY_PRESENT)) {
        --entry->peer->num_idle;
    }
}

/** The last use of a present entry has ended: make the entry the newest victim, or retire
 *  the entry if it is recalled or its peer has failed. */
void ucp_fh_entry_idle(ucp_fh_entry_t *entry);

/** End a use of an entry, except for the work that is rarely needed.
 *
 *  @return whether this work is needed: the caller then calls ucp_fh_entry_idle(). */
static UCS_F_ALWAYS_INLINE int ucp_fh_entry_unuse(ucp_fh_entry_t *entry)
{
    if ((--entry->uses > 0) || (entry->state != UCP_FH_ENTRY_PRESENT)) {
        return 0;
    }

    if (ucs_unlikely(!entry->is_listed || entry->is_recalled ||
                     (entry->peer->status != UCS_OK))) {
        return 1;
    }

    entry->is_spared = 1;
    ++entry->peer->num_idle;
    return 0;
}

/** End a use of an entry: call ucp_fh_entry_unuse(), and ucp_fh_entry_idle() if it is
 *  needed. */
void ucp_fh_entry_drop(ucp_fh_entry_t *entry);

/** Add an uncommitted entry, with a free firehose, for a request.
 *
 *  @return UCS_ERR_NO_MEMORY, or UCS_OK. */
ucs_status_t
ucp_fh_entry_add(ucp_fh_request_t *owner, ucp_fh_bucket_t bucket);

/** Reap an idle entry outside of the run of a request: the firehose of the entry is free
 *  for this request, which uses it for another bucket, or puts the entry back by
 *  ucp_fh_entry_unreap(). There must be such an entry. It is the oldest one of the victim
 *  FIFO; but a few entries that were used since they were listed get a second chance. */
void ucp_fh_entry_reap(ucp_fh_request_t *owner);

/** Undo the last ucp_fh_entry_reap() for a request: the entry is the oldest victim again. */
void ucp_fh_entry_unreap(ucp_fh_request_t *owner);

/** The firehose of a reaped entry goes to another bucket: remove the entry, and have the
 *  peer unpin the bucket of the entry. */
void ucp_fh_entry_replace(ucp_fh_entry_t *entry);

/** Make an uncommitted entry pending: the next message asks the peer to pin its bucket. */
void ucp_fh_entry_commit(ucp_fh_entry_t *entry);

/** The peer has pinned the bucket of a pending entry: the entry becomes present. */
void ucp_fh_entry_pinned(ucp_fh_entry_t *entry, void *key);

/** Remove and free an entry that is pending or uncommitted. Nobody may use a pending
 *  entry, and only its owner an uncommitted one. */
void ucp_fh_entry_discard(ucp_fh_entry_t *entry);

/** Remove an idle entry: the next message gives its firehose back to the peer. */
void ucp_fh_entry_give_back(ucp_fh_entry_t *entry);

/** Take an entry out of the victim FIFO. */
void ucp_fh_entry_unlist(ucp_fh_entry_t *entry);


/** @return whether a request for a run would be a hit. Entries that other requests have
 *          reaped count as hits. */
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

/** Put a request among the waiting requests of its peer. */
void ucp_fh_request_wait(ucp_fh_request_t *request);

/** Have a waiting request give back all entries that it uses, has added or has reaped.
 *  The request still waits, and begins anew at the next attempt. */
void ucp_fh_request_roll_back(ucp_fh_request_t *request);

/** Begin a use of a pending or present entry. If another request has reaped the entry,
 *  the other request rolls back. */
void ucp_fh_request_hold(ucp_fh_request_t *request, ucp_fh_entry_t *entry);

/** Let an active request wait for its next pending bucket, or grant it if no bucket is
 *  pending. */
void ucp_fh_request_advance(ucp_fh_request_t *request);

/** Take a waiting or active request out of the table. */
void ucp_fh_request_leave(ucp_fh_request_t *request);

/** Take a waiting or active request out of the table, and end it with an error. */
void ucp_fh_request_fail(ucp_fh_request_t *request, ucs_status_t status);

/**
 * Try to get all firehoses of a waiting request, and commit it then.
 *
 * @return UCS_OK if the request has committed; UCS_INPROGRESS if it still waits; or
 *         UCS_ERR_NO_MEMORY: the caller then takes the request out of the table.
 */
ucs_status_t ucp_fh_acquire_attempt(ucp_fh_request_t *request);

#endif
