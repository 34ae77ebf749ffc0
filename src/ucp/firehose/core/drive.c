/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "core.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of the spare message: more than a greeting with the longest address of UCP that
 * fits the key of a window */
#define SPARE_LENGTH 2048


static uint64_t number_of(const ucp_fh_parcel_t *parcel)
{
    return ucp_fh_parcel_header(parcel)->number;
}

/* Put a message into the inbox, in the order of numbers: nearly always at the end, but
 * UCP may deliver messages of a peer in another order than the peer has posted them.
 * Under lock. @return 0 if a message with the same number has come before */
static int insert(ucp_fh_link_t *link, ucp_fh_parcel_t *parcel)
{
    ucs_list_link_t *pos = link->inbox.prev;
    uint64_t other;

    if (number_of(parcel) < link->next_in) {
        return 0;
    }

    for (; pos != &link->inbox; pos = pos->prev) {
        other = number_of(ucs_container_of(pos, ucp_fh_parcel_t, link));
        if (other == number_of(parcel)) {
            return 0;
        }
        if (other < number_of(parcel)) {
            break;
        }
    }

    ucs_list_insert_after(pos, &parcel->link);
    return 1;
}

/* Under lock: put a message into the inbox of its peer, or free it if it is not wanted */
static void receive(ucp_fh_t *fh, ucp_fh_parcel_t *parcel)
{
    uint32_t slot       = parcel->slot;
    ucp_fh_link_t *link = &fh->links[slot];

    if (link->status != UCS_OK) {
        free(parcel); /* The peer is gone, or given up */
    } else if ((link->ep != NULL) && (ucp_fh_parcel_header(parcel)->cookie != link->cookie)) {
        free(parcel); /* From a process of another job: it has the number of this peer,
                         but not the cookie */
        ++fh->num_damaged;
    } else if ((link->num_inbox == UCP_FH_MAX_INBOX) || !insert(link, parcel)) {
        free(parcel);
        ucp_fh_peer_damaged(fh, slot);
    } else {
        ++link->num_inbox;
        ucp_fh_peer_look(fh, link);
    }
}

/* A message is lost for lack of memory: give up its sender, if connected, since the
 * sender would wait for an answer for ever. Under lock */
static void lose(ucp_fh_t *fh, const ucp_fh_header_t *header)
{
    const ucp_fh_link_t *link = &fh->links[header->sender];

    if ((link->ep != NULL) && (header->cookie == link->cookie)) {
        ucp_fh_peer_give_up(fh, header->sender);
        ucp_fh_wake(fh); /* The library's thread calls ucp_fh_settle(): this thread is in
                            a callback of UCP */
    }
}

/* Under send_lock. @return a copy of a message, in the spare message if malloc() has no
 * memory; NULL if the spare one is in use or too short. A greeting always fits into the
 * spare one: without the greeting of a peer, this process could not even send the peer
 * its last message */
static ucp_fh_parcel_t *copy_message(ucp_fh_t *fh, uint32_t slot,
                                     const void *data, size_t length)
{
    ucp_fh_parcel_t *parcel = malloc(sizeof(*parcel) + length);

    if (fh->spare == NULL) {
        fh->spare = malloc(sizeof(*parcel) + SPARE_LENGTH);
    }
    if ((parcel == NULL) && (length <= SPARE_LENGTH)) {
        parcel    = fh->spare;
        fh->spare = NULL;
    }
    if (parcel != NULL) {
        parcel->slot   = slot;
        parcel->length = length;
        memcpy(parcel->data, data, length);
    }
    return parcel;
}

/* Copy the header of a message, which may have any alignment. @return whether the message
 * is one of the library's, from a process of the job */
static int read_header(const ucp_fh_t *fh, const void *data, size_t length,
                       ucp_fh_header_t *header)
{
    if (length < sizeof(*header)) {
        return 0;
    }

    memcpy(header, data, sizeof(*header));
    return (ucp_fh_message_header(header, length) != NULL) &&
           (header->sender < fh->num_procs);
}

ucs_status_t
ucp_fh_inbox_receive(void *arg, const void *header, size_t header_length,
                 void *data, size_t length, const ucp_am_recv_param_t *param)
{
    ucp_fh_t *fh            = arg;
    ucp_fh_parcel_t *parcel = NULL;
    ucp_fh_header_t head;
    int is_ours;

    /* The library sends nothing by rendezvous: of such a message, @a data would not be
     * the bytes, but a descriptor */
    is_ours = !(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) &&
              read_header(fh, data, length, &head);
    if (is_ours) {
        parcel = copy_message(fh, head.sender, data, length);
    }

    ucp_fh_lock(fh);
    if (parcel != NULL) {
        receive(fh, parcel);
    } else if (is_ours) {
        lose(fh, &head);
    } else {
        ++fh->num_damaged;
    }
    ucp_fh_unlock(fh);
    return UCS_OK;
}

/* Under lock. @return whether the next message of a peer has come, and may be handled:
 * before the peer is connected, only its greeting may be handled */
static int has_next(const ucp_fh_t *fh, ucp_fh_link_t *link)
{
    ucp_fh_parcel_t *parcel;

    if (ucs_list_is_empty(&link->inbox)) {
        return 0;
    }

    parcel = ucs_list_head(&link->inbox, ucp_fh_parcel_t, link);
    return (number_of(parcel) == link->next_in) &&
           ((link->ep != NULL) ||
            (fh->says_hello && (ucp_fh_parcel_header(parcel)->type == UCP_FH_MESSAGE_HELLO)));
}

/* Take the next message of the peer whose last turn was longest ago, in the same time for
 * any number of processes. Under drive_lock, until the message is handled: messages of a
 * peer are handled in their order. @return the message, for the caller to free, or
 * NULL */
static ucp_fh_parcel_t *inbox_next(ucp_fh_t *fh)
{
    ucp_fh_parcel_t *parcel = NULL;
    ucp_fh_link_t *link;

    ucp_fh_lock(fh);
    while ((parcel == NULL) && !ucs_list_is_empty(&fh->mail)) {
        link = ucs_list_extract_head(&fh->mail, ucp_fh_link_t, mail);
        ucs_list_head_init(&link->mail);
        if (has_next(fh, link)) {
            parcel = ucs_list_extract_head(&link->inbox, ucp_fh_parcel_t, link);
            --link->num_inbox;
            ++link->next_in;
            ucp_fh_peer_look(fh, link); /* The peer's next turn comes after those of all
                                           others */
        }
    }
    ucp_fh_unlock(fh);
    return parcel;
}

/* Put a message back into the inbox, to be handled later. Under drive_lock */
static void inbox_put_back(ucp_fh_t *fh, ucp_fh_parcel_t *parcel)
{
    ucp_fh_link_t *link = &fh->links[parcel->slot];

    ucp_fh_lock(fh);
    if (link->status == UCS_OK) {
        ucs_list_add_head(&link->inbox, &parcel->link);
        ++link->num_inbox;
        --link->next_in;
        ucp_fh_peer_look(fh, link);
    } else {
        free(parcel);
    }
    ucp_fh_unlock(fh);
}

/* Most calls of ucp_worker_progress() in a row: then the thread leaves send_lock, for
 * threads with messages to send */
#define MAX_PROGRESS 64

/* Most messages that a thread handles in one call of ucp_fh_drive(): then its own work
 * goes on */
#define MAX_MESSAGES 16


/* Handle the greeting of a peer. The peer may be connected already, since this process may
 * have sent its own greeting at the same time */
static ucs_status_t handle_hello(ucp_fh_t *fh, const ucp_fh_parcel_t *parcel)
{
    size_t length    = parcel->length - sizeof(ucp_fh_header_t);
    const void *data = UCS_PTR_BYTE_OFFSET(parcel->data,
                                           sizeof(ucp_fh_header_t));
    const ucp_fh_address_t *head = data;
    uint64_t cookie  = ucp_fh_parcel_header(parcel)->cookie;
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
    switch (ucp_fh_parcel_header(parcel)->type) {
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
    ucp_fh_parcel_t *parcel = inbox_next(fh);
    ucs_status_t status;

    if (parcel == NULL) {
        return 0;
    }

    status = handle(fh, parcel);
    if (status == UCS_ERR_NO_MEMORY) {
        /* Only a greeting ends so: the peer is not connected yet, cannot be told of the
         * lack of memory, and its greeting is tried again later */
        inbox_put_back(fh, parcel);
        return 0;
    }

    if (status != UCS_OK) {
        ucp_fh_lock(fh);
        ucp_fh_peer_damaged(fh, parcel->slot);
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

ucp_fh_drive_result_t ucp_fh_drive(ucp_fh_t *fh, int is_help)
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

        /* Without drive_lock: ucp_fh_settle() may take long, and calls callbacks of the
         * program, which may wait for another message */
        if (has_handled) {
            ucp_fh_settle(fh);
        }
        if (has_progressed || has_handled) {
            result = UCP_FH_DRIVE_DONE;
        }
    } while (has_handled && (++num < MAX_MESSAGES));

    return result;
}

int ucp_fh_drive_help(ucp_fh_t *fh)
{
    /* Relaxed: a hint for how long the library's thread may sleep */
    ucs_relaxed_add(&fh->num_helps, 1);
    return ucp_fh_drive(fh, 1) == UCP_FH_DRIVE_DONE;
}
