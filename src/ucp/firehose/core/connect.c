/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <ucp/firehose/core/inbox.h>
#include <ucp/firehose/core/outbox.h>
#include <ucp/firehose/core/peer.h>

#include <ucs/debug/log_def.h>

#include <string.h>

/* How processes get to know each other */


/* Write what peers have to know of this process. The address is not aligned */
static void write_address(const ucp_fh_t *fh, void *address)
{
    const ucp_fh_address_t head = {
        .magic   = UCP_FH_ADDRESS_MAGIC,
        .version = UCP_FH_MESSAGE_VERSION,
        .shift   = (uint8_t)fh->shift,
        .index   = fh->index,
        .share   = fh->local.share,
        .cookie  = fh->cookie,
        .length  = fh->address_length
    };

    memcpy(address, &head, sizeof(head));
    memcpy(UCS_PTR_BYTE_OFFSET(address, sizeof(head)), fh->address,
           fh->address_length);
}

ucs_status_t
ucp_fh_get_address(ucp_fh_h fh, void **address_p, size_t *length_p)
{
    *length_p  = sizeof(ucp_fh_address_t) + fh->address_length;
    *address_p = malloc(*length_p);
    if (*address_p == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    write_address(fh, *address_p);
    return UCS_OK;
}

void ucp_fh_release_address(ucp_fh_h fh, void *address)
{
    free(address);
}

/* What has come in the name of a peer before its cookie was known */
static void drop_strangers(ucp_fh_t *fh, ucp_fh_link_t *link)
{
    ucp_fh_parcel_t *parcel, *next;

    ucs_list_for_each_safe(parcel, next, &link->inbox, link) {
        if (((ucp_fh_header_t*)parcel->data)->cookie != link->cookie) {
            ucs_list_del(&parcel->link);
            --link->num_inbox;
            ++fh->num_damaged;
            free(parcel);
        }
    }
}

/* Under both locks: the first message to a peer tells it who this is */
static ucs_status_t say_hello(ucp_fh_t *fh, uint32_t peer)
{
    size_t size = sizeof(ucp_fh_address_t) + fh->address_length;
    ucp_fh_parcel_t *parcel;

    parcel = ucp_fh_parcel_make(fh, peer, UCP_FH_MESSAGE_HELLO,
                                sizeof(ucp_fh_header_t) + size);
    if (parcel == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    write_address(fh, UCS_PTR_BYTE_OFFSET(parcel->data,
                                          sizeof(ucp_fh_header_t)));
    ucp_fh_outbox_post(fh, parcel);
    return UCS_OK;
}

/* Under both locks: the peer gets its place. Takes what is handed */
static ucs_status_t set_link(ucp_fh_t *fh, const ucp_fh_address_t *head,
                             ucp_address_t *address, ucp_ep_h ep)
{
    ucp_fh_link_t *link = &fh->links[head->index];
    ucs_status_t status;

    link->bye = ucp_fh_parcel_make(fh, head->index, UCP_FH_MESSAGE_BYE,
                                   sizeof(ucp_fh_header_t));
    if (link->bye == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    if (fh->says_hello) {
        status = say_hello(fh, head->index);
        if (status != UCS_OK) {
            goto err_free_bye;
        }
    }

    link->address = address;
    link->ep      = ep;
    link->shift   = head->shift;
    link->limit   = head->share;
    link->cookie  = head->cookie;
    drop_strangers(fh, link);
    ucp_fh_inbox_look(fh, link); /* It may have asked for something already */
    ucp_fh_remote_set_limit(&fh->remote, head->index, head->share);
    return UCS_OK;

err_free_bye:
    free(link->bye);
    link->bye = NULL;
    return status;
}

static ucs_status_t connect_to(ucp_fh_t *fh, const ucp_fh_address_t *head)
{
    ucp_fh_link_t *link    = &fh->links[head->index];
    ucp_address_t *address = malloc(head->length);
    int has_no_handler;
    ucs_status_t status;
    ucp_ep_h ep;

    if (address == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    memcpy(address, head + 1, head->length);
    link->peer_arg.fh   = fh;
    link->peer_arg.slot = head->index;
    status = ucp_fh_peer_ep(fh->worker, address, &link->peer_arg, &ep,
                            &has_no_handler);
    if (status != UCS_OK) {
        free(address);
        return status;
    }

    ucp_fh_lock(fh);
    status = set_link(fh, head, address, ep);
    ucp_fh_unlock(fh);
    if (status != UCS_OK) {
        /* The endpoint ends with the worker: to close it takes the peer */
        free(address);
    }
    return status;
}

ucs_status_t ucp_fh_connect(ucp_fh_h fh, uint32_t peer, const void *address,
                            size_t length)
{
    const ucp_fh_address_t *head = address;
    ucs_status_t status;

    if ((ucp_fh_address_check(address, length) != UCS_OK) ||
        (peer >= fh->num_procs) || (head->index != peer)) {
        ucs_error("firehose: %zu bytes that are not an address of process %u "
                  "of this version of the library", length, peer);
        return UCS_ERR_INVALID_PARAM;
    }

    ucs_mutex_lock(&fh->send_lock);
    status = (fh->links[peer].ep != NULL) ? UCS_ERR_ALREADY_EXISTS :
                                            connect_to(fh, head);
    ucs_mutex_unlock(&fh->send_lock);
    ucp_fh_wake(fh); /* It sends the greeting, if there is one */
    return status;
}
