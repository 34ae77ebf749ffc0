/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "remote_int.h"


static ucp_fh_entry_t *find(const ucp_fh_request_t *request, uint64_t index)
{
    return ucp_fh_entry_find(request->peer, request->run.first + index);
}

void ucp_fh_request_wait(ucp_fh_request_t *request)
{
    request->state    = UCP_FH_REQUEST_WAITING;
    request->attempts = 0;
    request->num_done = 0;
    ucs_list_head_init(&request->fresh);
    ucs_list_head_init(&request->reaped);
    ucs_list_add_tail(&request->peer->waiting, &request->link);
}

void ucp_fh_request_roll_back(ucp_fh_request_t *request)
{
    ucp_fh_entry_t *entry;
    uint64_t i;

    for (i = 0; i < request->num_done; ++i) {
        entry = find(request, i);
        if (entry->owner == request) {
            ucp_fh_entry_discard(entry);
        } else {
            ucp_fh_entry_drop(entry);
        }
    }

    request->peer->table->stats.roll_backs += (request->num_done > 0);
    request->num_done = 0;
    while (!ucs_list_is_empty(&request->reaped)) {
        ucp_fh_entry_unreap(request);
    }
}

void ucp_fh_request_hold(ucp_fh_request_t *request, ucp_fh_entry_t *entry)
{
    if (ucs_unlikely(entry->owner != NULL)) {
        ucp_fh_request_roll_back(entry->owner);
    }
    ucp_fh_entry_hold(entry);
}

/* A waiting request has all its entries: make the uncommitted ones pending, for the next
 * message to the peer. The request becomes active, or granted if none of its entries is
 * pending */
static void commit(ucp_fh_request_t *request)
{
    ucp_fh_peer_t *peer = request->peer;

    while (!ucs_list_is_empty(&request->fresh)) {
        ucp_fh_entry_commit(
                ucs_list_head(&request->fresh, ucp_fh_entry_t, link));
    }
    while (!ucs_list_is_empty(&request->reaped)) {
        ucp_fh_entry_replace(
                ucs_list_head(&request->reaped, ucp_fh_entry_t, link));
    }

    if (peer->da == request) {
        peer->da = NULL;
    }

    ucs_list_del(&request->link);
    ucs_list_add_tail(&peer->active, &request->link);
    request->state    = UCP_FH_REQUEST_ACTIVE;
    request->num_done = 0;
    ucp_fh_request_advance(request);
}

void ucp_fh_request_advance(ucp_fh_request_t *request)
{
    ucp_fh_entry_t *entry;

    for (; request->num_done < request->run.num; ++request->num_done) {
        entry = find(request, request->num_done);
        if (entry->state == UCP_FH_ENTRY_PENDING) {
            ucs_list_add_tail(&entry->waiters, &request->wait);
            return;
        }
    }

    ucs_list_del(&request->link);
    request->state = UCP_FH_REQUEST_GRANTED;
    request->first = find(request, 0);
    ++request->peer->num_granted;
}

void ucp_fh_request_leave(ucp_fh_request_t *request)
{
    uint64_t i;

    if (request->state == UCP_FH_REQUEST_WAITING) {
        ucp_fh_request_roll_back(request);
        if (request->peer->da == request) {
            request->peer->da = NULL;
        }
    } else {
        ucs_list_del(&request->wait);
        for (i = 0; i < request->run.num; ++i) {
            ucp_fh_entry_drop(find(request, i));
        }
    }

    ucs_list_del(&request->link);
    request->state = UCP_FH_REQUEST_ENDED;
}

void ucp_fh_request_fail(ucp_fh_request_t *request, ucs_status_t status)
{
    ucp_fh_request_leave(request);
    ucp_fh_comp_end(&request->comp, &request->peer->table->ended, status);
}


/* What is known of the entries of the buckets that a request does not use yet: the
 * estimate of Figure 6 of the paper */
typedef struct {
    uint64_t idle;       /* Number of idle entries: the request will use them, and
                            cannot reap them */
    int      is_hit;     /* Whether each bucket has an entry that is pending or
                            present; it may be reaped by another request */
    int      is_blocked; /* Whether an entry is uncommitted or reaped by another
                            request, or recalled */
} estimate_t;


static void estimate_entry(const ucp_fh_entry_t *entry, estimate_t *estimate)
{
    if (entry == NULL) {
        estimate->is_hit = 0;
    } else if ((entry->state == UCP_FH_ENTRY_UNCOMMITTED) ||
               entry->is_recalled) {
        estimate->is_blocked = 1;
        estimate->is_hit     = 0;
    } else if (entry->owner != NULL) {
        estimate->is_blocked = 1;
    } else if ((entry->state == UCP_FH_ENTRY_PRESENT) && (entry->uses == 0)) {
        ++estimate->idle;
    }
}

static estimate_t get_estimate(ucp_fh_request_t *request)
{
    /* A request with uncommitted entries is no hit */
    estimate_t estimate = {.is_hit = ucs_list_is_empty(&request->fresh)};
    uint64_t i;

    for (i = request->num_done; i < request->run.num; ++i) {
        estimate_entry(find(request, i), &estimate);
    }

    return estimate;
}

/* From the first bucket on that a request does not use yet, use the bucket's entry, or
 * else add an uncommitted entry, with a free or a reaped firehose, until no available
 * firehose is left */
static ucs_status_t take(ucp_fh_request_t *request, uint64_t available)
{
    ucp_fh_peer_t *peer = request->peer;
    ucp_fh_entry_t *entry;
    ucs_status_t status;

    for (; request->num_done < request->run.num; ++request->num_done) {
        entry = find(request, request->num_done);
        if (entry != NULL) {
            ucp_fh_request_hold(request, entry);
            continue;
        }

        if (available-- == 0) {
            break;
        }

        if (peer->used == peer->limit) {
            ucp_fh_entry_reap(request);
        }

        status = ucp_fh_entry_add(request, request->run.first + request->num_done);
        if (status != UCS_OK) {
            return status;
        }
    }

    return UCS_OK;
}

/* Give a request the deadlock-avoidance bit of its peer: there is a deadlock, or the
 * request could starve. All other waiting requests roll back */
static void give_bit(ucp_fh_request_t *request)
{
    ucp_fh_peer_t *peer = request->peer;
    ucp_fh_request_t *other;

    peer->da = request;
    ++peer->table->stats.bits;
    ucs_list_for_each(other, &peer->waiting, link) {
        if (other != request) {
            ucp_fh_request_roll_back(other);
        }
    }
}

/* Try to get all firehoses of a waiting request, and commit it then. @return UCS_INPROGRESS
 * if the request lacks firehoses */
static ucs_status_t try_once(ucp_fh_request_t *request)
{
    estimate_t estimate = get_estimate(request);
    ucs_status_t status;

    if (estimate.is_blocked && !estimate.is_hit) {
        ucp_fh_request_roll_back(request);
        return UCS_INPROGRESS;
    }

    status = take(request,
                  ucp_fh_peer_available(request->peer) - estimate.idle);
    if (status != UCS_OK) {
        return status;
    }

    if (request->num_done < request->run.num) {
        return UCS_INPROGRESS;
    }

    commit(request);
    return UCS_OK;
}

ucs_status_t ucp_fh_acquire_attempt(ucp_fh_request_t *request)
{
    ucp_fh_peer_t *peer = request->peer;
    ucs_status_t status = try_once(request);

    if (status != UCS_INPROGRESS) {
        return status;
    }

    if (request->attempts < peer->table->params.da_limit) {
        ++request->attempts;
    }

    if ((request->attempts < peer->table->params.da_limit) ||
        (peer->da != NULL)) {
        return UCS_INPROGRESS;
    }

    give_bit(request);
    return try_once(request);
}

/* Whether requests wait for firehoses of a peer, none has the bit, and no granted request
 * or message under way is left that could free a firehose */
static int is_stuck(ucp_fh_peer_t *peer)
{
    return (peer->da == NULL) && (peer->num_granted == 0) &&
           (peer->num_pending == 0) && !ucs_list_is_empty(&peer->waiting);
}

/* Try each waiting request once, or only the one with the bit. @return whether any
 * request has ended its wait: then others may be able to go on */
static int try_all(ucp_fh_peer_t *peer)
{
    int has_ended = 0;
    ucp_fh_request_t *request, *next;
    ucs_status_t status;

    ucs_list_for_each_safe(request, next, &peer->waiting, link) {
        if ((peer->da != NULL) && (peer->da != request)) {
            continue;
        }

        status = ucp_fh_acquire_attempt(request);
        if (status == UCS_INPROGRESS) {
            continue;
        }

        has_ended = 1;
        if (status != UCS_OK) {
            ucp_fh_request_fail(request, status);
        } else if (request->state == UCP_FH_REQUEST_GRANTED) {
            ucp_fh_comp_end(&request->comp, &peer->table->ended, UCS_OK);
        }
    }

    return has_ended;
}

void ucp_fh_acquire_settle(ucp_fh_peer_t *peer)
{
    int has_changed;

    do {
        has_changed = try_all(peer);
        if (is_stuck(peer)) {
            /* Nothing is left to be released or answered, after which the requests would
             * be tried again */
            ++peer->table->stats.stuck;
            give_bit(ucs_list_head(&peer->waiting, ucp_fh_request_t, link));
            has_changed = 1;
        }
    } while (has_changed);
}
