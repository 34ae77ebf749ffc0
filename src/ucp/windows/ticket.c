/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "calls.h"

#include <stdlib.h>

/* Known fields of parameters for an operation itself */
#define PLAIN_FIELDS \
    (UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER | \
     UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FIELD_MEMH)

/* Known fields of parameters for an operation and for its request */
#define FIELDS (UCP_OP_ATTR_FIELD_REQUEST | UCP_OP_ATTR_FIELD_CALLBACK | \
                UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS | \
                PLAIN_FIELDS)

/* In op_attr_mask, bits below FIRST_FLAG stand for fields; FIRST_FLAG and the bits above
 * are flags */
#define FIRST_FLAG UCP_OP_ATTR_FLAG_NO_IMM_CMPL


/* Protects fields of tickets, since a request may complete in another thread at any
 * time */
static ucs_mutex_t lock = UCS_MUTEX_INITIALIZER(UCS_RANK_WIN_TICKETS);

/* Tickets of requests under way, by request: some 100000 in a program that calls
 * MPI_Accumulate() for scattered elements. Written under @a lock */
static ucs_map_t tickets = UCS_MAP_INITIALIZER(UCS_RANK_WIN_MAP);


static int is_known(const ucp_request_param_t *param)
{
    return !(param->op_attr_mask & (FIRST_FLAG - 1) & ~(uint32_t)FIELDS);
}

int ucp_win_ticket_strip(const ucp_request_param_t *param,
                         ucp_request_param_t *plain)
{
    ucp_fh_param_copy(plain, param, PLAIN_FIELDS);
    return is_known(param);
}

/* UCP calls this function when the request of a ticket is complete. If
 * ucp_win_ticket_issued() was called before, this function frees the ticket; else
 * ucp_win_ticket_issued() will free it */
static void done(void *request, ucs_status_t status, void *user_data)
{
    ucp_win_ticket_t *ticket = user_data;
    ucp_send_nbx_callback_t callback;
    int is_issued;

    ucp_win_pieces_end(&ticket->pieces);

    ucs_mutex_lock(&lock);
    callback        = ticket->callback;
    user_data       = ticket->user_data;
    is_issued       = ticket->is_issued;
    ticket->is_done = 1;
    if (is_issued) {
        (void)ucs_map_take(&tickets, request);
    }
    ucs_mutex_unlock(&lock);
    if (is_issued) {
        free(ticket);
    }

    if (callback != NULL) {
        callback(request, status, user_data);
    }
}

ucp_win_ticket_t *ucp_win_ticket_make(const ucp_request_param_t *param)
{
    ucp_win_ticket_t *ticket;

    if (!is_known(param)) {
        return NULL;
    }

    ticket = calloc(1, sizeof(*ticket));
    if (ticket == NULL) {
        return NULL;
    }

    ucs_list_head_init(&ticket->pieces);
    ucp_fh_param_copy(&ticket->param, param, UINT32_MAX);
    if (param->op_attr_mask & UCP_OP_ATTR_FIELD_CALLBACK) {
        ticket->callback = param->cb.send;
    }
    if (param->op_attr_mask & UCP_OP_ATTR_FIELD_USER_DATA) {
        ticket->user_data = param->user_data;
    }
    ticket->param.op_attr_mask |= UCP_OP_ATTR_FIELD_CALLBACK |
                                  UCP_OP_ATTR_FIELD_USER_DATA;
    ticket->param.cb.send       = done;
    ticket->param.user_data     = ticket;
    return ticket;
}

ucs_status_ptr_t
ucp_win_ticket_issued(ucp_win_ticket_t *ticket, ucs_status_ptr_t request)
{
    int is_done;

    if (!UCS_PTR_IS_PTR(request)) {
        ucp_win_pieces_end(&ticket->pieces);
        free(ticket);
        return request;
    }

    ucs_mutex_lock(&lock);
    is_done           = ticket->is_done;
    ticket->is_issued = 1;
    if (!is_done) {
        /* If the map has no memory, ucp_win_ticket_freeing() does not find the ticket;
         * done() frees the ticket all the same */
        (void)ucs_map_put(&tickets, request, ticket);
    }
    ucs_mutex_unlock(&lock);
    if (is_done) {
        free(ticket);
    }
    return request;
}

int ucp_win_ticket_freeing(void *request)
{
    ucp_win_ticket_t *ticket;

    /* Without lock: the thread that frees a request has got the request after
     * ucp_win_ticket_issued(), and sees the entry of the map */
    if (ucs_map_find(&tickets, request) == NULL) {
        return 0;
    }

    ucs_mutex_lock(&lock);
    ticket = ucs_map_find(&tickets, request);
    if (ticket != NULL) {
        ticket->callback = NULL;
    }
    ucs_mutex_unlock(&lock);
    return ticket != NULL;
}


/* Flushes of the program */

static ucs_status_ptr_t
begin(ucp_worker_h worker, ucp_ep_h ep, const ucp_request_param_t *param)
{
    ucp_win_ticket_t *ticket = ucp_win_ticket_make(param);
    ucp_fh_t *fh             = ucp_win_tables();
    ucs_status_ptr_t request;
    ucs_list_link_t pieces;

    if (ticket != NULL) {
        request = ucp_fh_ways_flush(fh, &ucp_win.ways, worker, ep, &ticket->param,
                                    &ticket->pieces);
        return ucp_win_ticket_issued(ticket, request);
    }

    /* No callback of the library tells the end of the flush: give the pieces back, for
     * another flush to cover. Not before the call of UCP, which would otherwise come back
     * to this function, see ucp_win_needs_flush() */
    request = ucp_fh_ways_flush(fh, &ucp_win.ways, worker, ep, param, &pieces);
    ucp_fh_pieces_give_back(fh, &pieces);
    return request;
}

ucs_status_ptr_t ucp_win_flush_nbx(ucp_worker_h worker, ucp_ep_h ep,
                                   const ucp_request_param_t *param)
{
    ucp_win_entry_t entry = ucp_win_enter_always();
    ucs_status_ptr_t request;

    request = begin(worker, ep, param);
    ucp_win_leave(entry);
    return request;
}

int ucp_win_needs_flush(ucp_worker_h worker, ucp_ep_h ep)
{
    int ret = 0;
    ucp_win_entry_t entry;
    ucp_fh_t *fh;

    if (ucs_relaxed_load(&ucp_win.ways.num) == 0) {
        return 0;
    }

    entry = ucp_win_enter();
    fh    = (entry == UCP_WIN_REFUSED) ? NULL : ucp_win_fh();
    if (fh != NULL) {
        ucp_fh_lock(fh);
        ret = ucp_fh_ways_have(&ucp_win.ways, worker, ep);
        ucp_fh_unlock(fh);
    }
    ucp_win_leave(entry);
    return ret;
}

ucs_status_t ucp_win_way_complete(ucp_win_way_t *way, ucs_status_ptr_t request)
{
    const ucp_request_param_t param = {.op_attr_mask = 0};
    ucs_status_ptr_t flush;
    ucs_status_t status;

    flush  = ucp_win_flush_nbx(way->super.worker, way->super.ep, &param);
    status = UCS_PTR_STATUS(flush);
    if (UCS_PTR_IS_PTR(flush)) {
        status = ucp_win_way_wait(way, flush);
        ucp_request_free(flush);
    }

    if (UCS_PTR_IS_PTR(request)) {
        status = (status == UCS_OK) ? ucp_request_check_status(request) : status;
        ucp_request_free(request);
    }
    return status;
}
