/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "remote_int.h"

#include <stdlib.h>

/* Each time a victim is taken, this number of older entries get a second chance, since
 * they were used while in the victim FIFO. To pass over more entries could be better, but
 * all of them may have been used, and the lock is held meanwhile */
#define MAX_SPARED 16


static void remove_entry(ucp_fh_entry_t *entry)
{
    ucp_fh_remote_t *table = entry->peer->table;

    ucp_fh_buckets_remove(&table->entries, &table->num_entries,
                          ucp_fh_bucket_key(entry->peer->index, entry->bucket),
                          &entry->hash);
    entry->peer->num_recalled -= entry->is_recalled;
}

/* List the peer among those with a message to be sent */
static void to_send(ucp_fh_peer_t *peer)
{
    if (ucs_list_is_empty(&peer->send)) {
        ucs_list_add_tail(&peer->table->senders, &peer->send);
    }
}

/* Retire an entry that is in no list: the next message asks the peer to unpin its bucket.
 * If the peer has failed, the entry waits only for ucp_fh_remote_next_key() to take its
 * key */
static void retire(ucp_fh_entry_t *entry)
{
    ucp_fh_peer_t *peer = entry->peer;

    remove_entry(entry);
    if (peer->status != UCS_OK) {
        ucs_list_add_tail(&peer->table->dead, &entry->link);
        return;
    }

    ucs_list_add_tail(&peer->to_unpin, &entry->link);
    to_send(peer);
}

static void list_entry(ucp_fh_entry_t *entry)
{
    entry->is_listed = 1;
    entry->is_spared = 0;
    ucs_list_add_tail(&entry->peer->fifo, &entry->link);
}

void ucp_fh_entry_unlist(ucp_fh_entry_t *entry)
{
    entry->is_listed = 0;
    ucs_list_del(&entry->link);
}

void ucp_fh_entry_idle(ucp_fh_entry_t *entry)
{
    ucp_fh_peer_t *peer = entry->peer;

    if (entry->is_listed) {
        ucp_fh_entry_unlist(entry);
    }

    if (entry->is_recalled || (peer->status != UCS_OK)) {
        --peer->used;
        retire(entry);
        return;
    }

    list_entry(entry);
    ++peer->num_idle;
}

void ucp_fh_entry_drop(ucp_fh_entry_t *entry)
{
    if (ucp_fh_entry_unuse(entry)) {
        ucp_fh_entry_idle(entry);
    }
}

ucs_status_t
ucp_fh_entry_add(ucp_fh_request_t *owner, ucp_fh_bucket_t bucket)
{
    ucp_fh_entry_t *entry = malloc(sizeof(*entry));

    if (entry == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    *entry = (ucp_fh_entry_t){
        .peer   = owner->peer,
        .bucket = bucket,
        .uses   = 1,
        .state  = UCP_FH_ENTRY_UNCOMMITTED,
        .owner  = owner
    };
    ucs_list_head_init(&entry->waiters);
    ucs_list_add_tail(&owner->fresh, &entry->link);
    ucp_fh_buckets_add(&owner->peer->table->entries,
                       &owner->peer->table->num_entries,
                       ucp_fh_bucket_key(owner->peer->index, bucket), &entry->hash);
    ++owner->peer->used;
    return UCS_OK;
}

/* Take the oldest entry out of the victim FIFO. @return the entry, if its firehose may be
 * moved; NULL if the entry is in use, or is spared and becomes the newest victim: the
 * caller tries again */
static ucp_fh_entry_t *
next_victim(const ucp_fh_request_t *owner, unsigned *num_spared)
{
    ucp_fh_entry_t *entry = ucs_list_head(&owner->peer->fifo, ucp_fh_entry_t,
                                          link);
    int is_spared         = entry->is_spared;

    ucp_fh_entry_unlist(entry);
    if (entry->uses > 0) {
        return NULL;
    }

    if (ucp_fh_run_has(&owner->run, entry->bucket) ||
        (is_spared && ((*num_spared)++ < MAX_SPARED))) {
        list_entry(entry);
        return NULL;
    }

    return entry;
}

void ucp_fh_entry_reap(ucp_fh_request_t *owner)
{
    ucp_fh_peer_t *peer = owner->peer;
    unsigned num_spared = 0;
    ucp_fh_entry_t *entry;

    do {
        entry = next_victim(owner, &num_spared);
    } while (entry == NULL);

    ucs_list_add_tail(&owner->reaped, &entry->link);
    entry->owner = owner;
    --peer->num_idle;
    --peer->used;
}

void ucp_fh_entry_unreap(ucp_fh_request_t *owner)
{
    ucp_fh_peer_t *peer   = owner->peer;
    ucp_fh_entry_t *entry = ucs_list_tail(&owner->reaped, ucp_fh_entry_t,
                                          link);

    /* Put the entry back at the head of the victim FIFO, where ucp_fh_entry_reap() took the
     * entry from: it is older than all entries there */
    ucs_list_del(&entry->link);
    ucs_list_add_head(&peer->fifo, &entry->link);
    entry->is_listed = 1;
    entry->is_spared = 0;
    entry->owner     = NULL;
    ++peer->num_idle;
    ++peer->used;
}

void ucp_fh_entry_replace(ucp_fh_entry_t *entry)
{
    ucs_list_del(&entry->link);
    entry->owner = NULL;
    retire(entry);
}

void ucp_fh_entry_commit(ucp_fh_entry_t *entry)
{
    ucp_fh_peer_t *peer = entry->peer;

    ucs_list_del(&entry->link);
    ucs_list_add_tail(&peer->to_pin, &entry->link);
    entry->state = UCP_FH_ENTRY_PENDING;
    entry->owner = NULL;
    ++peer->num_pending;
    to_send(peer);
}

void ucp_fh_entry_pinned(ucp_fh_entry_t *entry, void *key)
{
    --entry->peer->num_pending;
    entry->state = UCP_FH_ENTRY_PRESENT;
    entry->key   = key;
    if (entry->uses == 0) {
        ucp_fh_entry_idle(entry);
    }
}

void ucp_fh_entry_discard(ucp_fh_entry_t *entry)
{
    if (entry->state == UCP_FH_ENTRY_PENDING) {
        --entry->peer->num_pending;
    }
    ucs_list_del(&entry->link);
    --entry->peer->used;
    remove_entry(entry);
    free(entry);
}

void ucp_fh_entry_give_back(ucp_fh_entry_t *entry)
{
    ucp_fh_entry_unlist(entry);
    --entry->peer->num_idle;
    --entry->peer->used;
    retire(entry);
}
