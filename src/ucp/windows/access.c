/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "access.h"
#include "acquire.h"
#include "flush.h"
#include "ticket.h"
#include "way.h"

#include <ucs/debug/log_def.h>

#include <inttypes.h>


/* An access under way in this thread */
typedef struct {
    ucp_win_remote_t *remote;
    ucp_win_way_t    *way;
    uint64_t         address;
    size_t           length;  /* Bytes */
    int              is_read; /* See ucp_win_piece_take() */
    int              is_implicit; /* The program does not wait for it, but for a
                                     flush */
    int              is_apart; /* Whether UCP registers the local buffer of each
                                  part by itself, and not the whole buffer once */
    int              goes_on; /* Whether a part was posted that is not complete,
                                 and nobody has a request for it */
    ucs_list_link_t  pieces;  /* One at most: that of the present part */
    ucp_win_entry_t  entry;   /* Set by enter() */
} access_t;


/* Without it, requests are complete or freed */
static const ucp_request_param_t no_param = {.op_attr_mask = 0};


/* @return bytes of so many elements, SIZE_MAX if that is not known here */
static size_t
get_length(const ucp_request_param_t *param, size_t count)
{
    size_t length;

    if (!(param->op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE)) {
        return count;
    }

    if (((param->datatype & UCP_DATATYPE_CLASS_MASK) != UCP_DATATYPE_CONTIG) ||
        __builtin_mul_overflow(count, param->datatype >> UCP_DATATYPE_SHIFT,
                               &length)) {
        return SIZE_MAX;
    }

    return length;
}

/* Let an access in as a call that uses Firehose. @return 0 if Firehose has ended, or is
 * about to: then the access is refused, which the log explains once */
static int enter(access_t *access)
{
    static atomic_flag is_told = ATOMIC_FLAG_INIT;

    access->entry = ucp_win_enter();
    if (ucs_likely((access->entry != UCP_WIN_REFUSED) &&
                   (ucp_win_fh() != NULL))) {
        return 1;
    }

    ucp_win_leave(access->entry);
    if (!atomic_flag_test_and_set(&is_told)) {
        ucs_error("windows: an operation of one UCP context on a window, while "
                  "the context of the windows here has ended; "
                  "UCX_RCACHE_PRED_WINDOWS=pin does without");
    }
    return 0;
}

static ucs_status_t
start(access_t *access, ucp_ep_h ep, uint64_t address, size_t length,
      ucp_rkey_h rkey)
{
    ucp_win_remote_t *remote = ucp_win_remote_find(rkey);
    ucp_win_way_t *way       = remote->way;

    if (ucs_unlikely(way->ep != ep)) {
        way = ucp_win_way_find(ep); /* Of the same peer */
    }

    if (ucs_unlikely(length == SIZE_MAX)) {
        ucs_error("windows: a datatype that is not contiguous; "
                  "UCX_RCACHE_PRED_WINDOWS=pin does without");
        return UCS_ERR_UNSUPPORTED;
    }

    if (ucs_unlikely((way == NULL) || (address < remote->start) ||
                     (address > remote->end) ||
                     (length > remote->end - address))) {
        ucs_error("windows: %zu bytes at 0x%" PRIx64 " of process %u; accepted: "
                  "what is in 0x%" PRIx64 " to 0x%" PRIx64, length, address,
                  remote->peer, remote->start, remote->end);
        return UCS_ERR_INVALID_PARAM;
    }

    access->remote  = remote;
    access->way     = way;
    access->address = address;
    access->length  = length;
    ucs_list_head_init(&access->pieces);
    return UCS_OK;
}

/* What went through the present piece is posted */
static void keep(access_t *access)
{
    if (ucp_win_pieces_keep(access->way, &access->pieces)) {
        (void)ucp_win_way_flush_if_due(access->way);
    }
}

/* Whether a flush can stand for an operation with these parameters, none of
 * which asks for a request or for none */
static int may_be_flush(const ucp_request_param_t *param)
{
    return !(param->op_attr_mask & (UCP_OP_ATTR_FLAG_NO_IMM_CMPL |
                                    UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL));
}

/* Whether an access has to be completed at once. If so, @a plain has the
 * parameters for it. The program cannot be told of its end later: many set what
 * belongs to a request when they have got it */
static int is_scarce(const access_t *access, const ucp_request_param_t *param,
                     ucp_request_param_t *plain)
{
    return ucs_unlikely(ucp_win_peer_is_scarce(access->remote->peer)) &&
           may_be_flush(param) && ucp_win_ticket_strip(param, plain);
}

/* Make the parameters for a flush that stands for an operation: a flush accepts the
 * request, the callback and its argument, and no other field.
 * @return these three of @a param, as far as they are set. */
static ucp_request_param_t flush_param(const ucp_request_param_t *param)
{
    ucp_request_param_t flush = {
        .op_attr_mask = param->op_attr_mask & (UCP_OP_ATTR_FIELD_REQUEST |
                                               UCP_OP_ATTR_FIELD_CALLBACK |
                                               UCP_OP_ATTR_FIELD_USER_DATA)
    };

    if (flush.op_attr_mask & UCP_OP_ATTR_FIELD_REQUEST) {
        flush.request = param->request;
    }
    if (flush.op_attr_mask & UCP_OP_ATTR_FIELD_CALLBACK) {
        flush.cb.send = param->cb.send;
    }
    if (flush.op_attr_mask & UCP_OP_ATTR_FIELD_USER_DATA) {
        flush.user_data = param->user_data;
    }
    return flush;
}

/* An access goes on after its parts were posted, without requests of the program: it gets
 * that of a flush, which does not end before, unless it waits for another one */
static ucs_status_ptr_t
follow(access_t *access, const ucp_request_param_t *param)
{
    ucp_request_param_t flush = flush_param(param);

    if (access->is_implicit) {
        return NULL;
    }

    access->goes_on = 0;
    return ucp_win_flush_nbx(access->way->worker, access->way->ep, &flush);
}

/* Flush what was begun on a way. @return UCS_INPROGRESS if that takes too long */
static ucs_status_t flush_way(ucp_win_way_t *way)
{
    void *request = ucp_win_flush_nbx(way->worker, way->ep, &no_param);
    ucs_status_t status;

    if (!UCS_PTR_IS_PTR(request)) {
        return UCS_PTR_STATUS(request);
    }

    status = ucp_win_way_wait(way, request);
    ucp_request_free(request);
    return status;
}

/* @return how a request of UCP ends that a flush has completed, which is freed */
static ucs_status_t
end_request(ucs_status_ptr_t request, ucs_status_t flush_status)
{
    ucs_status_t status;

    if (!UCS_PTR_IS_PTR(request)) {
        return flush_status;
    }

    status = (flush_status == UCS_OK) ? ucp_request_check_status(request) :
                                        flush_status;
    ucp_request_free(request);
    return status;
}

/* Complete an access that was posted, if that does not take too long. @return its
 * status, or what the program waits for. A callback of UCP may close the endpoint
 * meanwhile: a reference keeps the way */
static ucs_status_ptr_t finish(access_t *access, ucs_status_ptr_t request,
                               const ucp_request_param_t *param)
{
    ucp_win_way_t *way = access->way;
    ucs_status_t status;

    keep(access);
    if (UCS_PTR_IS_ERR(request)) {
        return request;
    }

    ucp_win_way_ref(way);
    status          = end_request(request, flush_way(way));
    access->goes_on = (status == UCS_INPROGRESS);
    request         = !access->goes_on        ? UCS_STATUS_PTR(status) :
                      ucp_win_way_closes(way) ? UCS_STATUS_PTR(UCS_ERR_CANCELED) :
                                                follow(access, param);
    ucp_win_way_put(way);
    return request;
}

/* @return the present piece if it has the bucket of an address, or NULL */
static ucp_win_piece_t *present_piece(access_t *access, uint64_t address)
{
    const ucp_fh_t *fh = ucp_win_fh();
    ucp_win_piece_t *piece;

    if (ucs_list_is_empty(&access->pieces)) {
        return NULL;
    }

    piece = ucs_list_head(&access->pieces, ucp_win_piece_t, link);
    return ucp_fh_run_has(&piece->request.run,
                          address >> fh->links[access->remote->peer].shift) ?
                   piece : NULL;
}

/* A part of what a window has exposed */
static ucs_status_t
next_in_buckets(access_t *access, uint64_t address, size_t length,
                ucp_win_part_t *part)
{
    ucp_win_remote_t *remote = access->remote;
    ucp_win_piece_t *piece   = present_piece(access, address);
    ucs_status_t status;

    if (piece == NULL) {
        keep(access);
        status = ucp_win_acquire(access->way, remote->peer, address, length,
                                 access->is_read, &piece);
        if (status != UCS_OK) {
            return status;
        }
        ucs_list_add_tail(&access->pieces, &piece->link);
    }

    return ucp_win_find_part(piece, remote->rest, remote->rest_length, address,
                             length, part);
}

/* Find the key of what comes after so many bytes, and how far it goes */
static ucs_status_t
next_part(access_t *access, size_t done, ucp_win_part_t *part)
{
    const ucp_win_remote_t *remote = access->remote;
    uint64_t address               = access->address + done;
    size_t length                  = access->length - done;

    if (ucs_unlikely(address < remote->first)) {
        part->rkey   = remote->head;
        part->length = ucs_min(length, remote->first - address);
        return UCS_OK;
    }

    if (ucs_unlikely(address >= remote->last)) {
        part->rkey   = remote->tail;
        part->length = length;
        return UCS_OK;
    }

    return next_in_buckets(access, address,
                           ucs_min(length, remote->last - address), part);
}

/* Post a part that the program does not wait for by itself. @return UCS_INPROGRESS if
 * it goes on */
static ucs_status_t
post_part(access_t *access, void *buffer, size_t done, int is_put,
          const ucp_win_part_t *part)
{
    ucp_ep_h ep      = access->way->ep;
    uint64_t address = access->address + done;
    ucs_status_ptr_t request;

    if (!access->is_apart) {
        ucp_win.env->begin_whole(buffer, access->length);
    }
    buffer  = UCS_PTR_BYTE_OFFSET(buffer, done);
    request = is_put ? ucp_put_nbx(ep, buffer, part->length, address,
                                   part->rkey, &no_param) :
                       ucp_get_nbx(ep, buffer, part->length, address,
                                   part->rkey, &no_param);
    access->is_apart |= ucp_win.env->end_whole();
    if (UCS_PTR_IS_PTR(request)) {
        ucp_request_free(request);
        return UCS_INPROGRESS;
    }
    return UCS_PTR_STATUS(request);
}

/* Post all parts of an access. @a part: the first one */
static ucs_status_t
post_parts(access_t *access, void *buffer, int is_put, ucp_win_part_t *part)
{
    size_t done = 0;
    ucs_status_t status;

    for (;;) {
        status = post_part(access, buffer, done, is_put, part);
        if (UCS_STATUS_IS_ERR(status)) {
            return status;
        }

        access->goes_on |= (status == UCS_INPROGRESS);
        done            += part->length;
        if (done == access->length) {
            return UCS_OK;
        }

        status = next_part(access, done, part);
        if (status != UCS_OK) {
            return status;
        }
    }
}

/* An access that meets more than one bucket. If a part goes on, the program's
 * request is a flush, which it is not ended before. @a part: its first one */
static ucs_status_ptr_t
access_parts(access_t *access, void *buffer, int is_put, ucp_win_part_t *part,
             const ucp_request_param_t *param)
{
    ucp_request_param_t plain;
    ucs_status_t status;

    status = post_parts(access, buffer, is_put, part);
    if ((status == UCS_OK) && is_scarce(access, param, &plain)) {
        return finish(access, NULL, param);
    }

    keep(access);
    if ((status != UCS_OK) || !access->goes_on) {
        return UCS_STATUS_PTR(status);
    }
    return follow(access, param);
}

static ucs_status_t begin(access_t *access, ucp_ep_h ep, uint64_t address,
                          size_t length, ucp_rkey_h rkey,
                          const ucp_request_param_t *param,
                          ucp_win_part_t *part)
{
    ucs_status_t status;

    status = start(access, ep, address, length, rkey);
    if (status != UCS_OK) {
        return status;
    }

    status = next_part(access, 0, part);
    if ((status == UCS_OK) && (part->length < length) && !may_be_flush(param)) {
        ucs_error("windows: an access of more than one bucket, with "
                  "UCP_OP_ATTR_FLAG_NO_IMM_CMPL or FORCE_IMM_CMPL; "
                  "UCX_RCACHE_PRED_WINDOWS=pin does without");
        status = UCS_ERR_UNSUPPORTED;
    }

    if (status != UCS_OK) {
        ucp_win_pieces_end(&access->pieces);
    }
    return status;
}

static ucs_status_ptr_t
begin_put(access_t *access, ucp_ep_h ep, const void *buffer, size_t count,
          uint64_t remote_addr, ucp_rkey_h rkey, const ucp_request_param_t *param)
{
    size_t length = get_length(param, count);
    ucp_request_param_t plain;
    ucs_status_ptr_t request;
    ucp_win_part_t part;
    ucs_status_t status;

    if (length == 0) {
        return NULL;
    }

    status = begin(access, ep, remote_addr, length, rkey, param, &part);
    if (status != UCS_OK) {
        return UCS_STATUS_PTR(status);
    }

    if (part.length < length) {
        return access_parts(access, (void*)buffer, 1, &part, param);
    }

    if (is_scarce(access, param, &plain)) {
        return finish(access, ucp_put_nbx(ep, buffer, count, remote_addr,
                                          part.rkey, &plain), param);
    }

    request = ucp_put_nbx(ep, buffer, count, remote_addr, part.rkey, param);
    keep(access);
    return request;
}

static ucs_status_ptr_t
begin_get(access_t *access, ucp_ep_h ep, void *buffer, size_t count,
          uint64_t remote_addr, ucp_rkey_h rkey, const ucp_request_param_t *param)
{
    size_t length = get_length(param, count);
    ucp_win_ticket_t *ticket;
    ucp_request_param_t plain;
    ucs_status_ptr_t request;
    ucp_win_part_t part;
    ucs_status_t status;

    if (length == 0) {
        return NULL;
    }

    status = begin(access, ep, remote_addr, length, rkey, param, &part);
    if (status != UCS_OK) {
        return UCS_STATUS_PTR(status);
    }

    if (part.length < length) {
        return access_parts(access, buffer, 0, &part, param);
    }

    if (is_scarce(access, param, &plain)) {
        return finish(access, ucp_get_nbx(ep, buffer, count, remote_addr,
                                          part.rkey, &plain), param);
    }

    ticket  = ucp_win_ticket_make(&access->pieces, param);
    request = ucp_get_nbx(ep, buffer, count, remote_addr, part.rkey,
                          (ticket == NULL) ? param : &ticket->param);
    if (ticket == NULL) {
        keep(access);
        return request;
    }
    return ucp_win_ticket_issued(ticket, request);
}

/* A put, or a get if the access is a read */
static ucs_status_ptr_t
transfer(access_t *access, ucp_ep_h ep, void *buffer, size_t count,
         uint64_t remote_addr, ucp_rkey_h rkey, const ucp_request_param_t *param)
{
    ucs_status_ptr_t request;

    if (!enter(access)) {
        return UCS_STATUS_PTR(UCS_ERR_UNREACHABLE);
    }

    request = access->is_read ? begin_get(access, ep, buffer, count, remote_addr,
                                          rkey, param) :
                                begin_put(access, ep, buffer, count, remote_addr,
                                          rkey, param);
    ucp_win_leave(access->entry);
    return request;
}

ucs_status_ptr_t ucp_win_put_nbx(ucp_ep_h ep, const void *buffer, size_t count,
                                 uint64_t remote_addr, ucp_rkey_h rkey,
                                 const ucp_request_param_t *param)
{
    access_t access = {};

    return transfer(&access, ep, (void*)buffer, count, remote_addr, rkey,
                    param);
}

ucs_status_ptr_t ucp_win_get_nbx(ucp_ep_h ep, void *buffer, size_t count,
                                 uint64_t remote_addr, ucp_rkey_h rkey,
                                 const ucp_request_param_t *param)
{
    access_t access = {.is_read = 1};

    return transfer(&access, ep, buffer, count, remote_addr, rkey, param);
}

/* @return how an access has begun that the program does not wait for */
static ucs_status_t drop(const access_t *access, ucs_status_ptr_t request)
{
    if (UCS_PTR_IS_PTR(request)) {
        ucp_request_free(request);
        return UCS_INPROGRESS;
    }

    return ((request == NULL) && access->goes_on) ? UCS_INPROGRESS :
                                                    UCS_PTR_STATUS(request);
}

ucs_status_t ucp_win_put_nbi(ucp_ep_h ep, const void *buffer, size_t length,
                             uint64_t remote_addr, ucp_rkey_h rkey)
{
    access_t access = {.is_implicit = 1};

    return drop(&access, transfer(&access, ep, (void*)buffer, length,
                                  remote_addr, rkey, &no_param));
}

ucs_status_t ucp_win_get_nbi(ucp_ep_h ep, void *buffer, size_t length,
                             uint64_t remote_addr, ucp_rkey_h rkey)
{
    access_t access = {.is_implicit = 1, .is_read = 1};

    return drop(&access, transfer(&access, ep, buffer, length, remote_addr, rkey,
                                  &no_param));
}

static ucs_status_ptr_t
begin_atomic(access_t *access, ucp_ep_h ep, ucp_atomic_op_t opcode,
             const void *buffer, size_t count, uint64_t remote_addr,
             ucp_rkey_h rkey, const ucp_request_param_t *param)
{
    size_t length            = get_length(param, count);
    ucp_win_ticket_t *ticket = NULL;
    ucp_request_param_t plain;
    ucs_status_ptr_t request;
    ucp_win_part_t part;
    ucs_status_t status;

    status = begin(access, ep, remote_addr, length, rkey, &no_param, &part);
    if (status != UCS_OK) {
        return UCS_STATUS_PTR(status);
    }

    if (part.length < length) { /* It is not aligned */
        ucp_win_pieces_end(&access->pieces);
        return UCS_STATUS_PTR(UCS_ERR_INVALID_PARAM);
    }

    if (is_scarce(access, param, &plain)) {
        return finish(access, ucp_atomic_op_nbx(ep, opcode, buffer, count,
                                                 remote_addr, part.rkey,
                                                 &plain), param);
    }

    if (access->is_read) {
        ticket = ucp_win_ticket_make(&access->pieces, param);
    }

    request = ucp_atomic_op_nbx(ep, opcode, buffer, count, remote_addr,
                                part.rkey,
                                (ticket == NULL) ? param : &ticket->param);
    if (ticket == NULL) {
        keep(access);
        return request;
    }
    return ucp_win_ticket_issued(ticket, request);
}

ucs_status_ptr_t
ucp_win_atomic_op_nbx(ucp_ep_h ep, ucp_atomic_op_t opcode, const void *buffer,
                      size_t count, uint64_t remote_addr, ucp_rkey_h rkey,
                      const ucp_request_param_t *param)
{
    access_t access = {
        .is_read = !!(param->op_attr_mask & UCP_OP_ATTR_FIELD_REPLY_BUFFER)
    };
    ucs_status_ptr_t request;

    if (!enter(&access)) {
        return UCS_STATUS_PTR(UCS_ERR_UNREACHABLE);
    }

    request = begin_atomic(&access, ep, opcode, buffer, count, remote_addr, rkey,
                           param);
    ucp_win_leave(access.entry);
    return request;
}

static ucs_status_ptr_t call_flush(ucp_worker_h worker, ucp_ep_h ep,
                                   const ucp_request_param_t *param)
{
    return (ep != NULL) ? ucp_ep_flush_nbx(ep, param) :
                          ucp_worker_flush_nbx(worker, param);
}

static ucs_status_ptr_t begin_flush(ucp_worker_h worker, ucp_ep_h ep,
                                    const ucp_request_param_t *param)
{
    ucp_win_ticket_t *ticket;
    ucs_status_ptr_t request;
    ucs_list_link_t pieces;

    (void)ucp_win_pieces_take(worker, ep, &pieces);
    ticket = ucp_win_ticket_make(&pieces, param);
    if (ticket != NULL) {
        request = call_flush(worker, ep, &ticket->param);
        if (ucp_win_flush_is_refused(request)) {
            ucp_win_pieces_give_back(&ticket->pieces);
        }
        return ucp_win_ticket_issued(ticket, request);
    }

    /* Another flush has to tell */
    ucp_win_pieces_give_back(&pieces);
    return call_flush(worker, ep, param);
}

ucs_status_ptr_t ucp_win_flush_nbx(ucp_worker_h worker, ucp_ep_h ep,
                                   const ucp_request_param_t *param)
{
    ucp_win_entry_t entry = ucp_win_enter_always();
    ucs_status_ptr_t request;

    request = begin_flush(worker, ep, param);
    ucp_win_leave(entry);
    return request;
}
