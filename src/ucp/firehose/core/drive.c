/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "drive.h"
#include "inbox.h"
#include "mover.h"
#include "peer.h"
#include "settle.h"
#include "target.h"

#include <stdlib.h>

/* The library's worker is progressed so many times at most before send_lock is
 * left to threads that want to send */
#define MAX_PROGRESS 64

/* A thread handles so many messages at most before it looks after its own
 * matters again */
#define MAX_MESSAGES 16


/* A peer has made itself known. It may be known already, as its greeting and
 * that of this process may have met */
static ucs_status_t handle_hello(ucp_fh_t *fh, const ucp_fh_parcel_t *parcel)
{
    size_t length    = parcel->length - sizeof(ucp_fh_header_t);
    const void *data = UCS_PTR_BYTE_OFFSET(parcel->data,
                                           sizeof(ucp_fh_header_t));
    const ucp_fh_address_t *head = data;
    uint64_t cookie  = ((const ucp_fh_header_t*)parcel->data)->cookie;
    ucs_status_t status;

    if (!fh->says_hello || (ucp_fh_address_check(data, length) != UCS_OK) ||
        (head->cookie != cookie)) {
        return UCS_ERR_INVALID_PARAM;
    }

    status = ucp_fh_connect(fh, parcel->slot, data, length);
    return (status == UCS_ERR_ALREADY_EXISTS) ? UCS_OK : status;
}

static ucs_status_t handle(ucp_fh_t *fh, const ucp_fh_parcel_t *parcel)
{
    const ucp_fh_header_t *header = (const ucp_fh_header_t*)parcel->data;

    switch (header->type) {
    case UCP_FH_MESSAGE_MOVE:
        return ucp_fh_target_move(fh, parcel);
    case UCP_FH_MESSAGE_REPLY:
        return ucp_fh_mover_reply(fh, parcel);
    case UCP_FH_MESSAGE_RECALL:
        return ucp_fh_mover_recall(fh, parcel);
    case UCP_FH_MESSAGE_HELLO:
        return handle_hello(fh, parcel);
    default:
        ucp_fh_lock(fh);
        ucp_fh_peer_fail(fh, parcel->slot, UCS_ERR_UNREACHABLE);
        ucp_fh_unlock(fh);
        return UCS_OK;
    }
}

/* @return whether a message was handled */
static int handle_one(ucp_fh_t *fh)
{
    ucp_fh_parcel_t *parcel = ucp_fh_inbox_next(fh);
    ucs_status_t status;

    if (parcel == NULL) {
        return 0;
    }

    status = handle(fh, parcel);
    if (status == UCS_ERR_NO_MEMORY) {
        /* A peer has made itself known, and cannot even be told that there is no
         * memory for that. It is tried again */
        ucp_fh_inbox_put_back(fh, parcel);
        return 0;
    }

    if (status != UCS_OK) {
        ucp_fh_lock(fh);
        ucp_fh_peer_damaged(fh, parcel->slot,
                            "a message that is not understood");
        ucp_fh_unlock(fh);
    }
    free(parcel);
    return 1;
}

static int progress(ucp_fh_t *fh, int is_help)
{
    int i = 0;

    ucs_mutex_lock(&fh->send_lock);
    while ((i < MAX_PROGRESS) && (ucp_worker_progress(fh->worker) > 0)) {
        ++i;
    }
    fh->has_acted |= is_help && (i > 0);
    ucs_mutex_unlock(&fh->send_lock);
    return i > 0;
}

static ucp_fh_drive_result_t drive(ucp_fh_t *fh, int is_help)
{
    ucp_fh_drive_result_t result = UCP_FH_DRIVE_NOTHING;
    int num                      = 0;
    int has_progressed, has_handled;

    do {
        if (!ucs_mutex_trylock(&fh->drive_lock)) {
            return (num > 0) ? UCP_FH_DRIVE_DONE : UCP_FH_DRIVE_TAKEN;
        }

        has_progressed = progress(fh, is_help);
        has_handled    = handle_one(fh);
        ucs_mutex_unlock(&fh->drive_lock);

        /* Without the lock, as it may take long and call the program, which may
         * wait for what another message brings */
        if (has_handled) {
            ucp_fh_settle(fh);
        }
        if (has_progressed || has_handled) {
            result = UCP_FH_DRIVE_DONE;
        }
    } while (has_handled && (++num < MAX_MESSAGES));

    return result;
}

ucp_fh_drive_result_t ucp_fh_drive(ucp_fh_t *fh)
{
    return drive(fh, 0);
}

int ucp_fh_drive_help(ucp_fh_t *fh)
{
    /* Relaxed: it is no more than a hint for how long the library's thread may
     * sleep */
    atomic_fetch_add_explicit(&fh->num_helps, 1, memory_order_relaxed);
    return drive(fh, 1) == UCP_FH_DRIVE_DONE;
}

/* Under send_lock, under which messages are received. @return whether there may
 * be messages to be handled, of which UCX tells no more */
static int has_mail(ucp_fh_t *fh)
{
    int ret;

    ucp_fh_lock(fh);
    ret = !ucs_list_is_empty(&fh->mail);
    ucp_fh_unlock(fh);
    return ret;
}

ucp_fh_drive_state_t ucp_fh_drive_arm(ucp_fh_t *fh)
{
    ucp_fh_drive_state_t state = UCP_FH_DRIVE_BLIND;
    ucs_status_t status;

    ucs_mutex_lock(&fh->send_lock);
    if (fh->has_acted || has_mail(fh)) {
        /* What was sent may have to be progressed, and UCX signals no event for
         * that */
        state = UCP_FH_DRIVE_BUSY;
    } else if (fh->worker_fd >= 0) {
        status = ucp_worker_arm(fh->worker);
        state  = (status == UCS_OK)       ? UCP_FH_DRIVE_ARMED :
                 (status == UCS_ERR_BUSY) ? UCP_FH_DRIVE_BUSY :
                                            UCP_FH_DRIVE_BLIND;
    }
    fh->has_acted = 0;
    fh->is_armed  = (state == UCP_FH_DRIVE_ARMED);
    ucs_mutex_unlock(&fh->send_lock);
    return state;
}

void ucp_fh_drive_disarm(ucp_fh_t *fh)
{
    ucs_mutex_lock(&fh->send_lock);
    fh->is_armed = 0;
    ucs_mutex_unlock(&fh->send_lock);
}
