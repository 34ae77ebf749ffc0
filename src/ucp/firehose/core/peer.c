/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "peer.h"
#include "outbox.h"

#include <ucs/debug/log_def.h>

#include <stdarg.h>
#include <stdlib.h>


/* Whether UCX's messages of this thread are held back */
static __thread int is_quiet;

static pthread_once_t once = PTHREAD_ONCE_INIT;


/* UCX's log calls this before it writes a message */
static ucs_log_func_rc_t
handle_message(const char *file, unsigned line, const char *function,
               ucs_log_level_t level,
               const ucs_log_component_config_t *comp_conf, const char *message,
               va_list ap)
{
    return is_quiet ? UCS_LOG_FUNC_RC_STOP : UCS_LOG_FUNC_RC_CONTINUE;
}

/* It stays to the end of the process, and so does the library: see the
 * Makefile */
static void install_handler(void)
{
    ucs_log_push_handler(handle_message);
}

static void drop_inbox(ucp_fh_link_t *link)
{
    while (!ucs_list_is_empty(&link->inbox)) {
        free(ucs_list_extract_head(&link->inbox, ucp_fh_parcel_t, link));
    }
    link->num_inbox = 0;
}

void ucp_fh_peer_fail(ucp_fh_t *fh, uint32_t slot, ucs_status_t status)
{
    ucp_fh_link_t *link = &fh->links[slot];
    ucp_fh_sent_t *sent;

    if (link->status != UCS_OK) {
        return;
    }

    link->status = status;
    drop_inbox(link);
    ucp_fh_local_fail_peer(&fh->local, slot);
    ucp_fh_remote_fail_peer(&fh->remote, slot, status);
    while (!ucs_list_is_empty(&link->sent)) {
        sent = ucs_list_extract_head(&link->sent, ucp_fh_sent_t, link);
        (void)ucp_fh_remote_moved(&fh->remote, sent->move, status, NULL);
        free(sent);
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

/* Not with UCS_ERR_NO_MEMORY: what fails for that may be tried again */
static void say_goodbye(ucp_fh_t *fh, uint32_t slot)
{
    ucp_fh_peer_fail(fh, slot, UCS_ERR_UNREACHABLE);
    ucp_fh_peer_bye(fh, slot);
}

void ucp_fh_peer_give_up(ucp_fh_t *fh, uint32_t slot)
{
    if (fh->links[slot].status == UCS_OK) {
        ucs_error("firehose: there is no memory for a message to or from process "
                  "%u; it cannot be reached any more", slot);
        say_goodbye(fh, slot);
    }
}

void ucp_fh_peer_damaged(ucp_fh_t *fh, uint32_t slot, const char *what)
{
    if (fh->links[slot].status == UCS_OK) {
        ++fh->num_damaged;
        ucs_error("firehose: process %u has sent %s; it is not heard any more",
                  slot, what);
        say_goodbye(fh, slot);
    }
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
    ucs_status_t status;

    /* It is no error if no transport can do this, but UCX would say so */
    (void)pthread_once(&once, install_handler);
    is_quiet          = 1;
    *has_no_handler_p = (params.err_mode == UCP_ERR_HANDLING_MODE_NONE);
    status            = ucp_ep_create(worker, &params, ep_p);
    is_quiet          = 0;
    if ((status == UCS_OK) || *has_no_handler_p) {
        return status;
    }

    /* Shared memory, for one, does not tell that a process is gone */
    ucs_debug("firehose: process %u: no transport tells when it is gone: %s",
              arg->slot, ucs_status_string(status));
    *has_no_handler_p = 1;
    params.err_mode   = UCP_ERR_HANDLING_MODE_NONE;
    return ucp_ep_create(worker, &params, ep_p);
}
