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

/** @return firehoses of a peer that nobody uses. */
static inline uint32_t ucp_fh_peer_available(const ucp_fh_peer_t *peer)
{
    return peer->limit - peer->used + peer->num_idle;
}

/** Begin a use of an entry that is pending or present and not reaped. The entry stays
 *  in the victim FIFO: taking it out and putting it back would access its
 *  neighbours, which of many entries are in no cache. */
static UCS_F_ALWAYS_INLINE void ucp_fh_entry_hold(ucp_fh_entry_t *entry)
{
    if ((entry->uses++ == 0) && (entry->state == UCP_FH_ENTRY_PRESENT)) {
        --entry->peer->num_idle;
    }
}

/** A present entry is not in use any more: make the entry the newest victim, or give
 *  it back if it is recalled or its peer has failed. */
void ucp_fh_entry_idle(ucp_fh_entry_t *entry);

/** End a use of an entry, except for the rare work.
 *
 *  @return whether ucp_fh_entry_idle() has to follow. */
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

/** End a use of an entry: ucp_fh_entry_unuse(), and ucp_fh_entry_idle() if that has to
 *  follow. */
void ucp_fh_entry_drop(ucp_fh_entry_t *entry);

/** Add an uncommitted entry, with a free firehose, for a request.
 *
 *  @return UCS_ERR_NO_MEMORY, or UCS_OK. */
ucs_status_t
ucp_fh_entry_add(ucp_fh_request_t *owner, ucp_fh_bucket_t bucket);

/** Free the firehose of an idle entry outside of the run of a request, for this
 *  request, which takes the firehose, or puts the entry back by
 *  ucp_fh_entry_unreap(). There must be such an entry. The oldest of the victim FIFO
 *  is taken, except that a few that were used since they are listed have a second
 *  chance. */
void ucp_fh_entry_reap(ucp_fh_request_t *owner);

/** Undo the last ucp_fh_entry_reap() for a request: the entry is the oldest victim again. */
void ucp_fh_entry_unreap(ucp_fh_request_t *owner);

/** The firehose of a reaped entry goes to another bucket: remove the entry, and let the peer
 *  unpin the bucket of the entry. */
void ucp_fh_entry_replace(ucp_fh_entry_t *entry);

/** Make an uncommitted entry pending: the next message asks the peer to pin its bucket. */
void ucp_fh_entry_commit(ucp_fh_entry_t *entry);

/** The peer has pinned a pending entry. */
void ucp_fh_entry_pinned(ucp_fh_entry_t *entry, void *key);

/** Remove and free an entry that is not present. Nobody may use the entry, except the
 *  owner of an uncommitted one. */
void ucp_fh_entry_discard(ucp_fh_entry_t *entry);

/** Remove an idle entry, to be given back. */
void ucp_fh_entry_give_back(ucp_fh_entry_t *entry);

/** Take an entry out of the victim FIFO. */
void ucp_fh_entry_unlist(ucp_fh_entry_t *entry);


/** @return whether all buckets of a run would be a hit, including buckets reaped by
 *          other requests. */
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

/** Begin to wait for firehoses. */
void ucp_fh_request_wait(ucp_fh_request_t *request);

/** A waiting request gives back its entries, and begins anew. */
void ucp_fh_request_roll_back(ucp_fh_request_t *request);

/** Begin a use of a pending or present entry. If a request has reaped the entry, that
 *  request rolls back. */
void ucp_fh_request_hold(ucp_fh_request_t *request, ucp_fh_entry_t *entry);

/** A request with all its entries no longer waits: its firehoses are to be moved. The
 *  request is granted if none of its entries is pending. */
void ucp_fh_request_commit(ucp_fh_request_t *request);

/** Let an active request wait for its next pending bucket, or grant it if no bucket is
 *  pending. */
void ucp_fh_request_advance(ucp_fh_request_t *request);

/** A waiting or active request leaves the table. */
void ucp_fh_request_leave(ucp_fh_request_t *request);

/** A waiting or active request ends with an error. */
void ucp_fh_request_fail(ucp_fh_request_t *request, ucs_status_t status);

/**
 * Try to get all firehoses of a waiting request, and commit it then.
 *
 * @return UCS_OK if the request has committed; UCS_INPROGRESS if it still waits; or
 *         UCS_ERR_NO_MEMORY, after which it has to leave.
 */
ucs_status_t ucp_fh_acquire_attempt(ucp_fh_request_t *request);

#endif
