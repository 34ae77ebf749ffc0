/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "request.h"


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

static void grant(ucp_fh_request_t *request)
{
    ucs_list_del(&request->link);
    request->state = UCP_FH_REQUEST_GRANTED;
    request->first = find(request, 0);
    ++request->peer->num_granted;
}

void ucp_fh_request_commit(ucp_fh_request_t *request)
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

    grant(request);
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
