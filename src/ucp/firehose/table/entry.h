/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_ENTRY_H_
#define UCP_FH_ENTRY_H_

#include "remote.h"

/** @file entry.h
 *
 * The entries of the remote table: where they are found, and the lists and
 * counts they are in. Everything is called under the lock of the table.
 */

/** A number that is the same for the same bucket of the same peer, and rarely
 *  for others. */
static UCS_F_ALWAYS_INLINE uint64_t
ucp_fh_entry_key(const ucp_fh_peer_t *peer, ucp_fh_bucket_t bucket)
{
    return bucket + ucs_rcache_pred_hash_word(peer->index);
}

/** @return the entry of a bucket, or NULL. */
static UCS_F_ALWAYS_INLINE ucp_fh_entry_t *
ucp_fh_entry_find(const ucp_fh_peer_t *peer, ucp_fh_bucket_t bucket)
{
    ucs_hlist_head_t *head = ucs_rcache_pred_bucket(
            &peer->table->entries, ucp_fh_entry_key(peer, bucket));
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

/** Begin a use of an entry that is pending or present and not reaped. It stays
 *  in the victim FIFO: to take it out, and to put it back, would access its
 *  neighbours, which are in no cache if there are many. */
static UCS_F_ALWAYS_INLINE void ucp_fh_entry_hold(ucp_fh_entry_t *entry)
{
    if ((entry->uses++ == 0) && (entry->state == UCP_FH_ENTRY_PRESENT)) {
        --entry->peer->num_idle;
    }
}

/** A present entry is not in use any more: it becomes the newest victim, or
 *  goes if it is recalled or its peer has failed. */
void ucp_fh_entry_idle(ucp_fh_entry_t *entry);

/** End a use of an entry. */
static UCS_F_ALWAYS_INLINE void ucp_fh_entry_drop(ucp_fh_entry_t *entry)
{
    if ((--entry->uses > 0) || (entry->state != UCP_FH_ENTRY_PRESENT)) {
        return;
    }

    if (ucs_likely(entry->is_listed && !entry->is_recalled &&
                   (entry->peer->status == UCS_OK))) {
        entry->is_spared = 1;
        ++entry->peer->num_idle;
    } else {
        ucp_fh_entry_idle(entry);
    }
}

/** Add an uncommitted entry that a request uses, whose firehose is a free one.
 *
 *  @return UCS_ERR_NO_MEMORY, or UCS_OK. */
ucs_status_t
ucp_fh_entry_add(ucp_fh_request_t *owner, ucp_fh_bucket_t bucket);

/** Free the firehose of an idle entry that is not in the run of a request,
 *  which takes it, or puts it back by ucp_fh_entry_unreap(). There must be one.
 *  It is the oldest of the victim FIFO, except that a few that were used since
 *  they got there have a second chance. */
void ucp_fh_entry_reap(ucp_fh_request_t *owner);

/** Put back the entry that was reaped last for a request. */
void ucp_fh_entry_unreap(ucp_fh_request_t *owner);

/** The firehose of an entry that was reaped is moved. */
void ucp_fh_entry_replace(ucp_fh_entry_t *entry);

/** An uncommitted entry is to be pinned. */
void ucp_fh_entry_commit(ucp_fh_entry_t *entry);

/** A pending entry was pinned by the peer. */
void ucp_fh_entry_pinned(ucp_fh_entry_t *entry, void *key);

/** Remove an entry that is not present and free it. Nobody may use it but, if
 *  it is uncommitted, its owner. */
void ucp_fh_entry_discard(ucp_fh_entry_t *entry);

/** Remove an idle entry, to be given back. */
void ucp_fh_entry_give_back(ucp_fh_entry_t *entry);

/** Take an entry out of the victim FIFO. */
void ucp_fh_entry_unlist(ucp_fh_entry_t *entry);

#endif
