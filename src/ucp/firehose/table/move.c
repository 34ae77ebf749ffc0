/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "remote_int.h"

#include <ucs/sys/math.h>

#include <stdlib.h>


static ucp_fh_move_t *alloc_move(ucp_fh_peer_t *peer)
{
    uint64_t room   = peer->table->params.max_move;
    uint64_t unpins = ucs_min(room, ucs_list_length(&peer->to_unpin));
    uint64_t pins   = ucs_min(room - unpins, ucs_list_length(&peer->to_pin));
    ucp_fh_move_t *move;

    move = malloc(sizeof(*move) + ((unpins + pins) * sizeof(*move->buckets)));
    if (move != NULL) {
        move->peer       = peer->index;
        move->num_unpins = unpins;
        move->num_pins   = pins;
    }
    return move;
}

static void fill_move(ucp_fh_peer_t *peer, ucp_fh_move_t *move)
{
    ucp_fh_bucket_t *bucket = move->buckets;
    ucp_fh_entry_t *entry;
    uint32_t i;

    for (i = 0; i < move->num_unpins; ++i) {
        entry     = ucs_list_extract_head(&peer->to_unpin, ucp_fh_entry_t,
                                          link);
        *bucket++ = entry->bucket;
        ucs_list_add_tail(&peer->table->dead, &entry->link);
    }

    for (i = 0; i < move->num_pins; ++i) {
        entry     = ucs_list_extract_head(&peer->to_pin, ucp_fh_entry_t, link);
        *bucket++ = entry->bucket;
        ucs_list_head_init(&entry->link);
    }
}

ucp_fh_move_t *ucp_fh_remote_next_move(ucp_fh_remote_t *table)
{
    ucp_fh_peer_t *peer;
    ucp_fh_move_t *move;

    if (ucs_list_is_empty(&table->senders)) {
        return NULL;
    }

    peer = ucs_list_head(&table->senders, ucp_fh_peer_t, send);
    move = alloc_move(peer);
    if (move == NULL) {
        return NULL;
    }

    fill_move(peer, move);
    ++table->stats.moves;
    table->stats.moved += move->num_pins;
    ucs_list_del(&peer->send);
    ucs_list_head_init(&peer->send);
    if (!ucs_list_is_empty(&peer->to_unpin) ||
        !ucs_list_is_empty(&peer->to_pin)) {
        ucs_list_add_tail(&table->senders, &peer->send);
    }
    return move;
}

/* The bucket of an entry is present now: requests that wait for the bucket go on */
static void wake_waiters(ucp_fh_entry_t *entry)
{
    UCS_LIST_HEAD(waiters);
    ucp_fh_request_t *request;

    ucs_list_splice_tail(&waiters, &entry->waiters);
    ucs_list_head_init(&entry->waiters);
    while ((request = ucp_fh_list_pop(&waiters, ucp_fh_request_t, wait)) != NULL) {
        ucp_fh_request_advance(request);
        if (request->state == UCP_FH_REQUEST_GRANTED) {
            ucp_fh_comp_end(&request->comp, &entry->peer->table->ended, UCS_OK);
        }
    }
}

/* End with an error all requests of a list that use a pending bucket */
static void fail_users(ucs_list_link_t *requests, ucp_fh_bucket_t bucket,
                       ucs_status_t status)
{
    ucp_fh_request_t *request, *next;

    ucs_list_for_each_safe(request, next, requests, link) {
        if (ucp_fh_run_has(&request->run, bucket) &&
            ((request->state == UCP_FH_REQUEST_ACTIVE) ||
             (bucket - request->run.first < request->num_done))) {
            ucp_fh_request_fail(request, status);
        }
    }
}

static void handle_answer(ucp_fh_peer_t *peer, ucp_fh_bucket_t bucket,
                          ucs_status_t status, void *key)
{
    ucp_fh_entry_t *entry = ucp_fh_entry_find(peer, bucket);

    if (status == UCS_OK) {
        ucp_fh_entry_pinned(entry, key);
        /* A recalled entry that nobody uses has left the table by now, but is not freed,
         * and has no waiters */
        if (!ucs_list_is_empty(&entry->waiters)) {
            wake_waiters(entry);
        }
    } else {
        fail_users(&peer->active, bucket, status);
        fail_users(&peer->waiting, bucket, status);
        ucp_fh_entry_discard(entry);
    }
}

ucs_status_t
ucp_fh_remote_moved(ucp_fh_remote_t *table, ucp_fh_move_t *move,
                    ucs_status_t status, const ucp_fh_answer_t *answers)
{
    ucp_fh_peer_t *peer   = &table->peers[move->peer];
    ucs_status_t accepted = (peer->status == UCS_OK) ? UCS_OK :
                                                       UCS_ERR_CANCELED;
    ucp_fh_bucket_t *pins = move->buckets + move->num_unpins;
    uint32_t i;

    status = (accepted == UCS_OK) ? status : peer->status;
    for (i = 0; i < move->num_pins; ++i) {
        if (status != UCS_OK) {
            handle_answer(peer, pins[i], status, NULL);
        } else {
            handle_answer(peer, pins[i], answers[i].status, answers[i].key);
        }
    }

    free(move);
    ucp_fh_acquire_settle(peer);
    return accepted;
}

void *ucp_fh_remote_next_key(ucp_fh_remote_t *table)
{
    ucp_fh_entry_t *entry = ucp_fh_list_pop(&table->dead, ucp_fh_entry_t, link);
    void *key             = (entry == NULL) ? NULL : entry->key;

    free(entry);
    return key;
}


/* Give an entry back to its peer: now if nobody uses the entry, else after its last
 * use */
static void recall_entry(ucp_fh_entry_t *entry)
{
    if (entry->state == UCP_FH_ENTRY_UNCOMMITTED) {
        return; /* The peer has not given this firehose yet */
    }

    if (entry->owner != NULL) {
        ucp_fh_request_roll_back(entry->owner);
    }

    if ((entry->state == UCP_FH_ENTRY_PRESENT) && (entry->uses == 0)) {
        ucp_fh_entry_give_back(entry);
    } else {
        entry->peer->num_recalled += !entry->is_recalled;
        entry->is_recalled         = 1;
    }
}

void ucp_fh_remote_recall(ucp_fh_remote_t *table, uint32_t index,
                          const ucp_fh_run_t *run)
{
    ucp_fh_peer_t *peer = &table->peers[index];
    ucp_fh_entry_t *entry;
    uint64_t i;

    for (i = 0; (i < run->num) && (peer->status == UCS_OK); ++i) {
        entry = ucp_fh_entry_find(peer, run->first + i);
        if (entry != NULL) {
            recall_entry(entry);
        }
    }

    /* Waiting requests may now get the firehoses that were given back */
    ucp_fh_acquire_settle(peer);
}
