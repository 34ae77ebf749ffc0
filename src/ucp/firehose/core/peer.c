/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "core.h"

#include <uct/ib/predreg/firehose/preload/firehose.h>

#include <ucs/debug/log_def.h>

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The function is NULL where libuct_predreg.so is not preloaded */
#pragma weak predreg_firehose_count_1


/* Messages of UCX with this text, logged in this thread, are kept out of the log; NULL:
 * no message is kept out */
static __thread const char *hushed;

static pthread_once_t once = PTHREAD_ONCE_INIT;


/* UCX's log calls this function before a message */
static ucs_log_func_rc_t
handle_message(const char *file, unsigned line, const char *function,
               ucs_log_level_t level,
               const ucs_log_component_config_t *comp_conf, const char *message,
               va_list ap)
{
    return ((hushed != NULL) && (strstr(message, hushed) != NULL)) ?
                   UCS_LOG_FUNC_RC_STOP : UCS_LOG_FUNC_RC_CONTINUE;
}

/* The handler stays until the end of the process, as does the library (-z nodelete) */
static void install_handler(void)
{
    ucs_log_push_handler(handle_message);
}

const char *ucp_fh_hush(const char *text)
{
    const char *before = hushed;

    (void)pthread_once(&once, install_handler);
    hushed = text;
    return before;
}

void ucp_fh_report(ucp_fh_t *fh)
{
    const ucp_fh_remote_stats_t *stats = &fh->remote.stats;

    if (predreg_firehose_count_1 != NULL) {
        predreg_firehose_count_1(stats->requests - fh->told_requests,
                                 stats->hits - fh->told_hits);
    }
    fh->told_requests = stats->requests;
    fh->told_hits     = stats->hits;
}

void ucp_fh_wake(ucp_fh_t *fh)
{
    uint64_t one = 1;
    ssize_t ret;

    /* write() fails only after 2^64 - 2 wake-ups that the thread has not read */
    ret = write(fh->watcher.wake_fd, &one, sizeof(one));
    (void)ret;
}

void ucp_fh_outbox_post(ucp_fh_t *fh, ucp_fh_parcel_t *parcel)
{
    ucp_fh_parcel_header(parcel)->number = fh->links[parcel->slot].next_out++;
    ucs_list_add_tail(&fh->outbox, &parcel->link);
}

/* Called by UCP under send_lock */
static void sent(void *request, ucs_status_t status, void *user_data)
{
    /* The status needs no look: if the message is lost, UCP calls the endpoint's error
     * handler too */
    ucp_request_free(request);
    free(user_data);
}

ucs_status_t ucp_fh_outbox_send(ucp_fh_t *fh, ucp_fh_parcel_t *parcel)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS,
        .flags        = UCP_AM_SEND_FLAG_EAGER,
        .cb.send      = sent,
        .user_data    = parcel
    };
    ucs_status_ptr_t request;
    int is_armed;

    ucs_mutex_lock(&fh->send_lock);
    request = ucp_am_send_nbx(fh->links[parcel->slot].ep, UCP_FH_AM_ID, NULL, 0,
                              parcel->data, parcel->length, &param);
    is_armed      = fh->is_armed;
    fh->has_acted = 1;
    ucs_mutex_unlock(&fh->send_lock);

    /* The library's thread sleeps, since the worker had nothing to do: now it has */
    if (is_armed) {
        ucp_fh_wake(fh);
    }
    if (UCS_PTR_IS_PTR(request)) {
        return UCS_OK;
    }

    free(parcel);
    return UCS_PTR_STATUS(request);
}

void ucp_fh_peer_look(ucp_fh_t *fh, ucp_fh_link_t *link)
{
    if (ucs_list_is_empty(&link->mail)) {
        ucs_list_add_tail(&fh->mail, &link->mail);
    }
}

static void drop_inbox(ucp_fh_link_t *link)
{
    ucp_fh_parcel_t *parcel;

    while ((parcel = ucp_fh_list_pop(&link->inbox, ucp_fh_parcel_t, link)) != NULL) {
        free(parcel);
    }
    link->num_inbox = 0;
}

void ucp_fh_peer_fail(ucp_fh_t *fh, uint32_t slot, ucs_status_t status)
{
    ucp_fh_link_t *link = &fh->links[slot];
    ucp_fh_move_t *move;

    if (link->status != UCS_OK) {
        return;
    }

    link->status = status;
    drop_inbox(link);
    ucp_fh_local_fail_peer(&fh->local, slot);
    ucp_fh_remote_fail_peer(&fh->remote, slot, status);
    while ((move = ucp_fh_list_pop(&link->sent, ucp_fh_move_t, link)) != NULL) {
        (void)ucp_fh_remote_moved(&fh->remote, move, status, NULL);
    }
}

void ucp_fh_peer_bye(ucp_fh_t *fh, uint32_t slot)
{
    ucp_fh_link_t *link = &fh->links[slot];

    if (link->bye != NULL) {
        ucp_fh_outbox_post(fh, link->bye);
        link->bye = NULL;
    }
}

/* Give a peer up, unless it is gone. Its requests end with UCS_ERR_UNREACHABLE: after
 * UCS_ERR_NO_MEMORY the program would try again */
static void say_goodbye(ucp_fh_t *fh, uint32_t slot, const char *what)
{
    if (fh->links[slot].status == UCS_OK) {
        ucs_error("firehose: process %u %s", slot, what);
        ucp_fh_peer_fail(fh, slot, UCS_ERR_UNREACHABLE);
        ucp_fh_peer_bye(fh, slot);
    }
}

void ucp_fh_peer_give_up(ucp_fh_t *fh, uint32_t slot)
{
    say_goodbye(fh, slot, "cannot be reached any more: there is no memory for a message "
                          "to or from it");
}

void ucp_fh_peer_damaged(ucp_fh_t *fh, uint32_t slot)
{
    fh->num_damaged += (fh->links[slot].status == UCS_OK);
    say_goodbye(fh, slot, "is not heard any more: it has sent a message that is not "
                          "understood, or too many");
}

void ucp_fh_peer_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    ucp_fh_peer_arg_t *peer = arg;
    ucp_fh_t *fh            = peer->fh;

    ucp_fh_lock(fh);
    ucp_fh_peer_fail(fh, peer->slot, status);
    ucp_fh_unlock(fh);
    ucp_fh_wake(fh);
}

ucs_status_t ucp_fh_peer_ep(ucp_worker_h worker, const ucp_address_t *address,
                            ucp_fh_peer_arg_t *arg, ucp_ep_h *ep_p,
                            int *has_no_handler_p)
{
    ucp_ep_params_t params = {
        .field_mask      = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                           UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                           UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address         = address,
        .err_mode        = arg->fh->err_mode,
        .err_handler.cb  = ucp_fh_peer_error,
        .err_handler.arg = arg
    };
    const char *before;
    ucs_status_t status;

    /* UCX would log an error if no transport notices the end of a peer */
    before            = ucp_fh_hush("");
    *has_no_handler_p = (params.err_mode == UCP_ERR_HANDLING_MODE_NONE);
    status            = ucp_ep_create(worker, &params, ep_p);
    (void)ucp_fh_hush(before);
    if ((status == UCS_OK) || *has_no_handler_p) {
        return status;
    }

    /* Shared memory, for example, does not notice the end of a peer */
    ucs_debug("firehose: process %u: no transport tells when it is gone: %s",
              arg->slot, ucs_status_string(status));
    *has_no_handler_p = 1;
    params.err_mode   = UCP_ERR_HANDLING_MODE_NONE;
    return ucp_ep_create(worker, &params, ep_p);
}


/* How processes get to know each other */


/* Write the address by which peers connect to this process. @a address may have any
 * alignment */
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

/* Drop messages of other processes in the name of a peer. They were received before the
 * peer's cookie was known, and have another cookie */
static void drop_strangers(ucp_fh_t *fh, ucp_fh_link_t *link)
{
    ucp_fh_parcel_t *parcel, *next;

    ucs_list_for_each_safe(parcel, next, &link->inbox, link) {
        if (ucp_fh_parcel_header(parcel)->cookie != link->cookie) {
            ucs_list_del(&parcel->link);
            --link->num_inbox;
            ++fh->num_damaged;
            free(parcel);
        }
    }
}

/* Under send_lock and lock: post the first message to a peer: it has the address of this
 * process */
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

/* Under send_lock and lock: fill in the link of a peer, which gets @a address and @a ep */
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
    link->cookie  = head->cookie;
    drop_strangers(fh, link);
    ucp_fh_peer_look(fh, link); /* Messages of the peer may have come already */
    fh->remote.peers[head->index].limit = head->share;
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
        /* The endpoint stays, and is destroyed with the worker: to close the endpoint
         * now, this thread would have to wait for the peer */
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
    if (status == UCS_OK) {
        ucp_fh_wake(fh); /* The library's thread sends the greeting, if there is one */
    }
    return status;
}
