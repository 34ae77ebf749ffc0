/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "calls.h"

#include <ucs/base/buckets.h>
#include <ucs/base/mutex.h>

#include <stdlib.h>

/* The parameters that are known here, and copied */
#define FIELDS (UCP_OP_ATTR_FIELD_REQUEST | UCP_OP_ATTR_FIELD_CALLBACK | \
                UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS | \
                PLAIN_FIELDS)

/* The parameters of the operation, among these */
#define PLAIN_FIELDS \
    (UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER | \
     UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FIELD_MEMH)

/* The bits below this one stand for fields, those above for flags */
#define FIRST_FLAG UCP_OP_ATTR_FLAG_NO_IMM_CMPL


/* Logarithm of the first number of buckets of the table, which grows with the tickets */
#define FIRST_BITS 6


/* Protects the table, and tickets with requests that may complete at any time */
static ucs_mutex_t lock = UCS_MUTEX_INITIALIZER(UCS_RANK_WIN_TICKETS);

/* Tickets by request. Programs may have some 100000 requests under way, such as an
 * MPI_Accumulate() of scattered elements. Made with the first ticket */
static ucs_buckets_t tickets;

/* The number of tickets in the table. Written under the lock; relaxed: a thread sees its own
 * requests counted */
static atomic_uint num_tickets;


static uint64_t key_of(const ucs_hlist_link_t *link)
{
    return (uintptr_t)((const ucp_win_ticket_t*)link)->request;
}

/* Under lock. @return whether there is a table with room for one more */
static int has_room(void)
{
    unsigned capacity;
    ucs_hlist_head_t *heads;

    if (tickets.heads == NULL) {
        return ucs_buckets_init(&tickets, FIRST_BITS, key_of) ==
               UCS_OK;
    }

    capacity = ucs_buckets_capacity(&tickets);
    if (atomic_load_explicit(&num_tickets, memory_order_relaxed) >= capacity) {
        heads = ucs_buckets_alloc(capacity);
        if (heads != NULL) {
            free(ucs_buckets_grow(&tickets, heads, capacity));
        }
    }
    return 1;
}

/* Under lock */
static void note(ucp_win_ticket_t *ticket, void *request)
{
    if (!has_room()) {
        return;
    }

    ucs_buckets_move(&tickets);
    ticket->request  = request;
    ticket->is_noted = 1;
    ucs_hlist_add_tail(ucs_bucket(&tickets, (uintptr_t)request),
                       &ticket->hash);
    atomic_fetch_add_explicit(&num_tickets, 1, memory_order_relaxed);
}

/* Under lock. @return the ticket of a request, or NULL */
static ucp_win_ticket_t *find(void *request)
{
    ucs_hlist_head_t *head = ucs_bucket(&tickets,
                                                    (uintptr_t)request);
    ucp_win_ticket_t *ticket;

    ucs_hlist_for_each(ticket, head, hash) {
        if (ticket->request == request) {
            return ticket;
        }
    }

    return NULL;
}

/* The request of a ticket is complete: take the ticket out of the table. Under lock */
static void forget(ucp_win_ticket_t *ticket)
{
    if (ticket->is_noted) {
        ucs_hlist_del(ucs_bucket(&tickets,
                                             (uintptr_t)ticket->request),
                      &ticket->hash);
        atomic_fetch_sub_explicit(&num_tickets, 1, memory_order_relaxed);
        ticket->is_noted = 0;
    }
}

static int is_known(const ucp_request_param_t *param)
{
    return !(param->op_attr_mask & (FIRST_FLAG - 1) & ~(uint32_t)FIELDS);
}

/* Only fields of the mask are read: the structure may be of another version */
static void copy_plain(ucp_request_param_t *copy,
                       const ucp_request_param_t *param)
{
    uint32_t mask = param->op_attr_mask;

    copy->op_attr_mask = mask & PLAIN_FIELDS;
    if (mask & UCP_OP_ATTR_FIELD_DATATYPE) {
        copy->datatype = param->datatype;
    }
    if (mask & UCP_OP_ATTR_FIELD_REPLY_BUFFER) {
        copy->reply_buffer = param->reply_buffer;
    }
    if (mask & UCP_OP_ATTR_FIELD_MEMORY_TYPE) {
        copy->memory_type = param->memory_type;
    }
    if (mask & UCP_OP_ATTR_FIELD_MEMH) {
        copy->memh = param->memh;
    }
}

int ucp_win_ticket_strip(const ucp_request_param_t *param,
                         ucp_request_param_t *plain)
{
    copy_plain(plain, param);
    return is_known(param);
}

static void copy_param(ucp_win_ticket_t *ticket,
                       const ucp_request_param_t *param)
{
    uint32_t mask             = param->op_attr_mask;
    ucp_request_param_t *copy = &ticket->param;

    copy_plain(copy, param);
    copy->op_attr_mask = mask;
    if (mask & UCP_OP_ATTR_FIELD_REQUEST) {
        copy->request = param->request;
    }
    if (mask & UCP_OP_ATTR_FIELD_FLAGS) {
        copy->flags = param->flags;
    }
    if (mask & UCP_OP_ATTR_FIELD_CALLBACK) {
        ticket->callback = param->cb.send;
    }
    if (mask & UCP_OP_ATTR_FIELD_USER_DATA) {
        ticket->user_data = param->user_data;
    }
}

/* UCP calls this when the request is complete, perhaps before note(): then the thread of
 * ucp_win_ticket_issued() frees the ticket */
static void done(void *request, ucs_status_t status, void *user_data)
{
    ucp_win_ticket_t *ticket = user_data;
    ucp_send_nbx_callback_t callback;
    int was_noted;

    ucp_win_pieces_end(&ticket->pieces);

    ucs_mutex_lock(&lock);
    callback        = ticket->callback;
    user_data       = ticket->user_data;
    was_noted       = ticket->is_noted;
    ticket->is_done = 1;
    forget(ticket);
    ucs_mutex_unlock(&lock);
    if (was_noted) {
        free(ticket);
    }

    if (callback != NULL) {
        callback(request, status, user_data);
    }
}

ucp_win_ticket_t *ucp_win_ticket_make(ucs_list_link_t *pieces,
                                      const ucp_request_param_t *param)
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
    ucs_list_splice_tail(&ticket->pieces, pieces);
    ucs_list_head_init(pieces);
    copy_param(ticket, param);
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
    is_done = ticket->is_done;
    if (!is_done) {
        note(ticket, request);
    }
    ucs_mutex_unlock(&lock);
    if (is_done) {
        free(ticket);
    }
    return request;
}

int ucp_win_ticket_freeing(void *request)
{
    ucp_win_ticket_t *ticket = NULL;

    if (atomic_load_explicit(&num_tickets, memory_order_relaxed) == 0) {
        return 0;
    }

    ucs_mutex_lock(&lock);
    if (tickets.heads != NULL) {
        ticket = find(request);
    }
    if (ticket != NULL) {
        ticket->callback = NULL;
    }
    ucs_mutex_unlock(&lock);
    return ticket != NULL;
}
