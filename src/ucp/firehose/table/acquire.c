/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "acquire.h"


/* What there is of the buckets that a request does not use yet: the estimate of
 * Figure 6 */
typedef struct {
    uint64_t missing;    /* Buckets without an entry */
    uint64_t idle;       /* Idle entries, which the request does not move as it
                            wants to use them */
    int      is_hit;     /* Whether all are pending or present, those that
                            others have reaped included */
    int      is_blocked; /* Whether one is uncommitted or reaped by another
                            request, or recalled */
} estimate_t;


static void estimate_entry(const ucp_fh_entry_t *entry, estimate_t *estimate)
{
    if (entry == NULL) {
        ++estimate->missing;
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
    /* It is no hit if the request has uncommitted entries */
    estimate_t estimate = {.is_hit = ucs_list_is_empty(&request->fresh)};
    uint64_t i;

    for (i = request->num_done; i < request->run.num; ++i) {
        estimate_entry(ucp_fh_entry_find(request->peer,
                                         request->run.first + i),
                       &estimate);
    }

    return estimate;
}

/* Use the entries of the run that there are, from the first bucket on, and move
 * at most as many firehoses as are available for those that there are not */
static ucs_status_t take(ucp_fh_request_t *request, uint64_t available)
{
    ucp_fh_peer_t *peer = request->peer;
    ucp_fh_bucket_t bucket;
    ucp_fh_entry_t *entry;
    ucs_status_t status;

    for (; request->num_done < request->run.num; ++request->num_done) {
        bucket = request->run.first + request->num_done;
        entry  = ucp_fh_entry_find(peer, bucket);
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

        status = ucp_fh_entry_add(request, bucket);
        if (status != UCS_OK) {
            return status;
        }
    }

    return UCS_OK;
}

/* The request has found a deadlock, or could starve: all others that wait
 * return what they have got */
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

/* @return UCS_INPROGRESS if the request has not got all that it needs */
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

    ucp_fh_request_commit(request);
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

/* Whether requests wait for a peer, and nothing is in use or under way that
 * would ever free a firehose */
static int is_stuck(ucp_fh_peer_t *peer)
{
    return (peer->da == NULL) && (peer->num_granted == 0) &&
           (peer->num_pending == 0) && !ucs_list_is_empty(&peer->waiting);
}

/* Try each request once. @return whether one waits no longer */
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
            /* No release or answer would ever try them again */
            ++peer->table->stats.stuck;
            give_bit(ucs_list_head(&peer->waiting, ucp_fh_request_t, link));
            has_changed = 1;
        }
    } while (has_changed);
}
