/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "remote_int.h"

#include <stdlib.h>

/* The hash table of entries has at first 2^FIRST_BITS places */
#define FIRST_BITS 6


static uint64_t key_of(const ucs_hlist_link_t *link)
{
    const ucp_fh_entry_t *entry = (const ucp_fh_entry_t*)link;

    return ucp_fh_bucket_key(entry->peer->index, entry->bucket);
}

static void init_peer(ucp_fh_remote_t *table, uint32_t index)
{
    ucp_fh_peer_t *peer = &table->peers[index];

    peer->table = table;
    peer->index = index;
    ucs_list_head_init(&peer->fifo);
    ucs_list_head_init(&peer->waiting);
    ucs_list_head_init(&peer->active);
    ucs_list_head_init(&peer->to_pin);
    ucs_list_head_init(&peer->to_unpin);
    ucs_list_head_init(&peer->send);
}

ucs_status_t ucp_fh_remote_init(ucp_fh_remote_t *table,
                                const ucp_fh_remote_params_t *params)
{
    ucs_status_t status;
    uint32_t i;

    table->params      = *params;
    table->stats       = (ucp_fh_remote_stats_t){};
    table->num_entries = 0;
    ucs_list_head_init(&table->senders);
    ucs_list_head_init(&table->dead);
    ucs_list_head_init(&table->ended);
    status = ucs_buckets_init(&table->entries, FIRST_BITS, key_of);
    if (status != UCS_OK) {
        return status;
    }

    table->peers = calloc(params->num_peers, sizeof(*table->peers));
    if (table->peers == NULL) {
        status = UCS_ERR_NO_MEMORY;
        goto err_cleanup_entries;
    }

    for (i = 0; i < params->num_peers; ++i) {
        init_peer(table, i);
    }
    return UCS_OK;

err_cleanup_entries:
    ucs_buckets_cleanup(&table->entries);
    return status;
}

void ucp_fh_remote_cleanup(ucp_fh_remote_t *table,
                           void (*destroy)(void *arg, void *key), void *arg)
{
    uint32_t i;

    for (i = 0; i < table->params.num_peers; ++i) {
        ucp_fh_remote_fail_peer(table, i, UCS_ERR_CANCELED);
    }
    while (!ucs_list_is_empty(&table->dead)) {
        destroy(arg, ucp_fh_remote_next_key(table));
    }

    free(table->peers);
    ucs_buckets_cleanup(&table->entries);
}

static UCS_F_ALWAYS_INLINE void granted_at_once(ucp_fh_request_t *request,
                                                ucp_fh_entry_t *first)
{
    ucp_fh_peer_t *peer = request->peer;

    request->state = UCP_FH_REQUEST_GRANTED;
    request->first = first;
    ++peer->num_granted;
    ++peer->table->stats.requests;
    ++peer->table->stats.hits;
}

static ucs_status_t begin(ucp_fh_remote_t *table, ucp_fh_request_t *request,
                          uint32_t index, const ucp_fh_run_t *run)
{
    ucp_fh_peer_t *peer = &table->peers[index];

    request->comp.status = UCS_INPROGRESS;
    request->state       = UCP_FH_REQUEST_ENDED;
    request->peer        = peer;
    request->run         = *run;
    return ucs_unlikely(peer->status != UCS_OK) ? peer->status :
           ucs_unlikely(run->num == 0)          ? UCS_ERR_INVALID_PARAM :
           ucs_unlikely(run->num > peer->limit) ? UCS_ERR_EXCEEDS_LIMIT :
                                                  UCS_OK;
}

/* Grant a request that is a hit: all its buckets are present */
static void grant_hit(ucp_fh_request_t *request)
{
    ucp_fh_peer_t *peer = request->peer;
    uint64_t i          = request->run.num;
    ucp_fh_entry_t *entry;

    do {
        entry = ucp_fh_entry_find(peer, request->run.first + --i);
        ucp_fh_request_hold(request, entry);
    } while (i > 0);

    granted_at_once(request, entry);
}

/* Grant a request of the most frequent kind, with one look into the table: for one
 * bucket, with a present entry that is not reaped. @return whether the request was
 * granted */
static UCS_F_ALWAYS_INLINE int try_single(ucp_fh_request_t *request)
{
    ucp_fh_peer_t *peer = request->peer;
    ucp_fh_entry_t *entry;

    if ((request->run.num != 1) || (peer->da != NULL)) {
        return 0;
    }

    entry = ucp_fh_entry_find(peer, request->run.first);
    if (!ucp_fh_entry_is_hit(entry) || (entry->owner != NULL)) {
        return 0;
    }

    ucp_fh_entry_hold(entry);
    granted_at_once(request, entry);
    return 1;
}

/* @return whether granted requests hold all buckets of a run. */
static int run_is_held(const ucp_fh_peer_t *peer, const ucp_fh_run_t *run)
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

/* @return UCS_ERR_NO_RESOURCE if the request is no hit */
static ucs_status_t try_hit(ucp_fh_request_t *request)
{
    ucp_fh_peer_t *peer = request->peer;

    if (try_single(request)) {
        return UCS_OK;
    }

    if (((peer->da != NULL) || !ucp_fh_run_is_hit(peer, &request->run)) &&
        !run_is_held(peer, &request->run)) {
        return UCS_ERR_NO_RESOURCE;
    }

    grant_hit(request);
    return UCS_OK;
}

static ucs_status_t acquire_miss(ucp_fh_request_t *request)
{
    ucp_fh_peer_t *peer = request->peer;
    ucs_status_t status = UCS_INPROGRESS;

    ++peer->table->stats.requests;
    ++peer->num_missed;
    ucp_fh_request_wait(request);
    if (peer->da == NULL) {
        status = ucp_fh_acquire_attempt(request);
    }
    if (status == UCS_ERR_NO_MEMORY) {
        ucp_fh_request_leave(request);
    } else if (request->state != UCP_FH_REQUEST_GRANTED) {
        status = UCS_INPROGRESS;
    }

    /* There is no need to look for stuck requests: an earlier call would have given one
     * of them the bit. This request, if not committed, has taken no firehose away from
     * them */
    return status;
}

ucs_status_t ucp_fh_remote_acquire(ucp_fh_remote_t *table,
                                   ucp_fh_request_t *request, uint32_t peer,
                                   const ucp_fh_run_t *run)
{
    ucs_status_t status = begin(table, request, peer, run);

    if (status != UCS_OK) {
        return status;
    }

    status = try_hit(request);
    return (status == UCS_OK) ? UCS_OK : acquire_miss(request);
}

/* @return the longest hit within a run */
static ucp_fh_run_t longest_hit(const ucp_fh_peer_t *peer,
                                const ucp_fh_run_t *run)
{
    ucp_fh_run_t longest = {.first = run->first, .num = 0};
    ucp_fh_run_t part    = longest;
    uint64_t i;

    for (i = 0; i < run->num; ++i) {
        if (ucp_fh_entry_is_hit(ucp_fh_entry_find(peer, run->first + i))) {
            ++part.num;
            longest = (part.num > longest.num) ? part : longest;
        } else {
            part.first = run->first + i + 1;
            part.num   = 0;
        }
    }

    return longest;
}

ucs_status_t ucp_fh_remote_try(ucp_fh_remote_t *table,
                               ucp_fh_request_t *request, uint32_t peer,
                               const ucp_fh_run_t *run, ucp_fh_form_t form)
{
    ucs_status_t status = begin(table, request, peer, run);

    if (form == UCP_FH_FORM_TRY) {
        return (status != UCS_OK) ? status : try_hit(request);
    }

    /* The run may be too long for a request: its longest hit is not */
    if ((status != UCS_OK) && (status != UCS_ERR_EXCEEDS_LIMIT)) {
        return status;
    }

    request->run = longest_hit(request->peer, run);
    if ((request->run.num == 0) || (request->peer->da != NULL)) {
        return UCS_ERR_NO_RESOURCE;
    }

    grant_hit(request);
    return UCS_OK;
}

void ucp_fh_remote_hold(const ucp_fh_request_t *request, int is_held)
{
    int change = is_held ? 1 : -1;
    uint64_t i;

    for (i = 0; i < request->run.num; ++i) {
        request->peer->num_holds += change;
        ucp_fh_entry_find(request->peer, request->run.first + i)->holds += change;
    }
}

void ucp_fh_remote_release(ucp_fh_remote_t *table, ucp_fh_request_t *request)
{
    ucp_fh_peer_t *peer = request->peer;
    uint64_t i;

    --peer->num_granted;
    request->state = UCP_FH_REQUEST_ENDED;
    if (ucp_fh_entry_unuse(request->first)) {
        ucp_fh_entry_idle(request->first);
    }
    for (i = 1; i < request->run.num; ++i) {
        ucp_fh_entry_drop(ucp_fh_entry_find(peer, request->run.first + i));
    }

    if (ucs_unlikely(!ucs_list_is_empty(&peer->waiting))) {
        ucp_fh_acquire_settle(peer);
    }
}

uint64_t
ucp_fh_remote_shed(ucp_fh_remote_t *table, uint32_t index, uint64_t most)
{
    ucp_fh_peer_t *peer = &table->peers[index];
    uint64_t num        = 0;
    ucp_fh_entry_t *entry, *next;

    ucs_list_for_each_safe(entry, next, &peer->fifo, link) {
        if (num == most) {
            break;
        }
        if (entry->uses == 0) {
            ucp_fh_entry_give_back(entry);
            ++num;
        }
    }

    if (num > 0) {
        ucp_fh_acquire_settle(peer);
    }
    return num;
}

void *ucp_fh_remote_key(ucp_fh_remote_t *table, const ucp_fh_request_t *request,
                        uint64_t index)
{
    return (index == 0) ? request->first->key :
                          ucp_fh_entry_find(request->peer,
                                            request->run.first + index)->key;
}

static void fail_requests(ucs_list_link_t *requests, ucs_status_t status)
{
    ucp_fh_request_t *request, *next;

    ucs_list_for_each_safe(request, next, requests, link) {
        ucp_fh_request_fail(request, status);
    }
}

void ucp_fh_remote_fail_peer(ucp_fh_remote_t *table, uint32_t index,
                             ucs_status_t status)
{
    ucp_fh_peer_t *peer = &table->peers[index];
    ucp_fh_entry_t *entry;

    if (peer->status != UCS_OK) {
        return;
    }

    /* From now on, entries go to ucp_fh_remote_t::dead after their last use. Entries that
     * are pending in a message stay until ucp_fh_remote_moved() */
    peer->status = status;
    fail_requests(&peer->waiting, status);
    fail_requests(&peer->active, status);
    while (!ucs_list_is_empty(&peer->to_pin)) {
        ucp_fh_entry_discard(
                ucs_list_head(&peer->to_pin, ucp_fh_entry_t, link));
    }
    while (!ucs_list_is_empty(&peer->fifo)) {
        entry = ucs_list_head(&peer->fifo, ucp_fh_entry_t, link);
        if (entry->uses > 0) {
            ucp_fh_entry_unlist(entry);
        } else {
            ucp_fh_entry_give_back(entry);
        }
    }

    ucs_list_splice_tail(&table->dead, &peer->to_unpin);
    ucs_list_head_init(&peer->to_unpin);
    ucs_list_del(&peer->send);
    ucs_list_head_init(&peer->send);
}
