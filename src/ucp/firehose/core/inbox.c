/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "inbox.h"
#include "outbox.h"
#include "peer.h"

#include <stdlib.h>
#include <string.h>


/* Bytes of a message for which there is memory in any case: more than an address of
 * UCP has that is short enough for the key of a window */
#define SPARE_LENGTH 2048


static uint64_t number_of(const ucp_fh_parcel_t *parcel)
{
    return ((const ucp_fh_header_t*)parcel->data)->number;
}

static unsigned type_of(const ucp_fh_parcel_t *parcel)
{
    return ((const ucp_fh_header_t*)parcel->data)->type;
}

static uint64_t cookie_of(const ucp_fh_parcel_t *parcel)
{
    return ((const ucp_fh_header_t*)parcel->data)->cookie;
}

/* Put a message where it belongs among those of its peer, nearly always at the
 * end. Under lock. @return 0 if there was one of its number */
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

void ucp_fh_inbox_look(ucp_fh_t *fh, ucp_fh_link_t *link)
{
    if (ucs_list_is_empty(&link->mail)) {
        ucs_list_add_tail(&fh->mail, &link->mail);
    }
}

/* Under lock. Takes the message */
static void receive(ucp_fh_t *fh, ucp_fh_parcel_t *parcel)
{
    uint32_t slot       = parcel->slot;
    ucp_fh_link_t *link = &fh->links[slot];

    if (link->status != UCS_OK) {
        free(parcel); /* It is not heard any more */
    } else if ((link->ep != NULL) && (cookie_of(parcel) != link->cookie)) {
        free(parcel); /* It has the number of this peer, but not its cookie:
                         a process of another job has sent it */
        ++fh->num_damaged;
    } else if ((link->num_inbox == UCP_FH_MAX_INBOX) || !insert(link, parcel)) {
        free(parcel);
        ucp_fh_peer_damaged(fh, slot, "a message too many");
    } else {
        ++link->num_inbox;
        ucp_fh_inbox_look(fh, link);
    }
}

/* There is no memory for a message. Its peer would wait for what follows from it.
 * Under lock */
static void lose(ucp_fh_t *fh, const ucp_fh_header_t *header)
{
    const ucp_fh_link_t *link = &fh->links[header->sender];

    if ((link->ep != NULL) && (header->cookie == link->cookie)) {
        ucp_fh_peer_give_up(fh, header->sender);
        ucp_fh_wake(fh); /* Not here, in a callback of UCP */
    }
}

/* Under send_lock. @return memory for a message: the spare one, if there is no other
 * and it is enough. What a peer says when it makes itself known is: without, that peer
 * could not even be told that it is not heard */
static ucp_fh_parcel_t *alloc_parcel(ucp_fh_t *fh, size_t length)
{
    ucp_fh_parcel_t *parcel = malloc(sizeof(*parcel) + length);

    if (fh->spare == NULL) {
        fh->spare = malloc(sizeof(*parcel) + SPARE_LENGTH);
    }
    if ((parcel == NULL) && (length <= SPARE_LENGTH)) {
        parcel    = fh->spare;
        fh->spare = NULL;
    }
    return parcel;
}

/* @return a copy of a message, or NULL if there is no memory */
static ucp_fh_parcel_t *copy_message(ucp_fh_t *fh, uint32_t slot,
                                     const void *data, size_t length)
{
    ucp_fh_parcel_t *parcel = alloc_parcel(fh, length);

    if (parcel != NULL) {
        parcel->fh     = fh;
        parcel->slot   = slot;
        parcel->length = length;
        memcpy(parcel->data, data, length);
    }
    return parcel;
}

/* @return whether it can be told whose a message is: *@a header is what it begins
 *         with. The message may be at any address */
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

    /* A rendezvous is none of ours: what there is of it is a description
     * only */
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

/* Under lock. @return whether the next message of a peer is there, and may be
 * handled: before the peer is connected, only its greeting is */
static int has_next(const ucp_fh_t *fh, ucp_fh_link_t *link)
{
    ucp_fh_parcel_t *parcel;

    if (ucs_list_is_empty(&link->inbox)) {
        return 0;
    }

    parcel = ucs_list_head(&link->inbox, ucp_fh_parcel_t, link);
    return (number_of(parcel) == link->next_in) &&
           ((link->ep != NULL) ||
            (fh->says_hello && (type_of(parcel) == UCP_FH_MESSAGE_HELLO)));
}

/* Under lock. Take the next message of a peer, which is there */
static ucp_fh_parcel_t *take_next(ucp_fh_t *fh, ucp_fh_link_t *link)
{
    --link->num_inbox;
    ++link->next_in;
    ucp_fh_inbox_look(fh, link); /* After all others: it has had its turn */
    return ucs_list_extract_head(&link->inbox, ucp_fh_parcel_t, link);
}

ucp_fh_parcel_t *ucp_fh_inbox_next(ucp_fh_t *fh)
{
    ucp_fh_parcel_t *parcel = NULL;
    ucp_fh_link_t *link;

    ucp_fh_lock(fh);
    while ((parcel == NULL) && !ucs_list_is_empty(&fh->mail)) {
        link = ucs_list_extract_head(&fh->mail, ucp_fh_link_t, mail);
        ucs_list_head_init(&link->mail);
        if (has_next(fh, link)) {
            parcel = take_next(fh, link);
        }
    }
    ucp_fh_unlock(fh);
    return parcel;
}

void ucp_fh_inbox_put_back(ucp_fh_t *fh, ucp_fh_parcel_t *parcel)
{
    ucp_fh_link_t *link = &fh->links[parcel->slot];

    ucp_fh_lock(fh);
    if (link->status == UCS_OK) {
        ucs_list_add_head(&link->inbox, &parcel->link);
        ++link->num_inbox;
        --link->next_in;
        ucp_fh_inbox_look(fh, link);
    } else {
        free(parcel);
    }
    ucp_fh_unlock(fh);
}
