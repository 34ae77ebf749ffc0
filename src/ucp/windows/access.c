/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "calls.h"

#include <ucs/debug/log_def.h>

#include <inttypes.h>


/* An access under way in this thread */
typedef struct {
    ucp_fh_access_t  super;
    ucp_ep_h         ep;
    ucp_win_remote_t *window;
    ucp_win_way_t    *way;
    int              is_read; /* Whether the firehoses may be released when the request is
                                 complete, not only after a flush */
    int              is_implicit; /* Whether the program gets no request, and waits for a
                                     flush instead */
    int              is_apart; /* Whether UCP registers the local buffer chunk by chunk,
                                  not the whole buffer once */
    int              goes_on; /* Whether a chunk goes on that was posted and whose request
                                 was freed */
    ucp_fh_piece_t   *piece;  /* The present piece: the chunk to be posted next is in it;
                                 or NULL */
} access_t;


/* The parameters for UCP of operations whose requests the program does not get */
static const ucp_request_param_t no_param = {.op_attr_mask = 0};


ucs_status_t ucp_win_drop(ucs_status_ptr_t request)
{
    if (UCS_PTR_IS_PTR(request)) {
        ucp_request_free(request);
        return UCS_INPROGRESS;
    }
    return UCS_PTR_STATUS(request);
}

/* Enter the call of an access. @return 0 if Firehose has ended, or is about to end: then
 * the caller has to refuse the access, and the log says why, once */
static int enter(ucp_win_entry_t *entry_p)
{
    static atomic_flag is_told = ATOMIC_FLAG_INIT;

    *entry_p = ucp_win_enter();
    if (ucs_likely((*entry_p != UCP_WIN_REFUSED) && (ucp_win_fh() != NULL))) {
        return 1;
    }

    ucp_win_leave(*entry_p);
    if (!atomic_flag_test_and_set(&is_told)) {
        ucs_error("windows: an operation of one UCP context on a window, while "
                  "the context of the windows here has ended; "
                  "UCX_RCACHE_PRED_WINDOWS=pin does without");
    }
    return 0;
}

/* Find the window and the way of an access. The key may have been unpacked for another
 * endpoint to the same peer than that of the access: then find the way by the endpoint.
 * The comparison needs no lock: even if another thread is closing the other endpoint and
 * writes way->super.ep, the value read is never the endpoint of the access */
static ucs_status_t start(access_t *access, ucp_rkey_h rkey)
{
    ucp_win_remote_t *window = ucp_win_remote_find(rkey);
    ucp_win_way_t *way       = window->way;
    ucp_win_range_t range    = window->range;
    uint64_t address         = access->super.remote;

    if (ucs_unlikely(way->super.ep != access->ep)) {
        way = ucp_win_way_find(access->ep);
    }

    if (ucs_unlikely((way == NULL) || (address < range.start) ||
                     (address > range.end) ||
                     (access->super.length > range.end - address))) {
        ucs_error("windows: %zu bytes at 0x%" PRIx64 " of process %u; accepted: "
                  "what is in 0x%" PRIx64 " to 0x%" PRIx64, access->super.length,
                  address, window->peer, range.start, range.end);
        return UCS_ERR_INVALID_PARAM;
    }

    if (ucs_unlikely(way->super.max_unflushed == 0)) { /* The way has no peer yet: no key
                                                          was unpacked for its endpoint */
        ucp_win_way_connect(ucp_win_fh(), way, window->peer);
    }

    access->window = window;
    access->way    = way;
    return UCS_OK;
}

/* All chunks that go through the present piece are posted: keep the piece until a
 * flush */
static void keep(access_t *access)
{
    if (access->piece != NULL) {
        ucp_fh_piece_keep(ucp_win_fh(), access->piece);
        access->piece = NULL;
    }
}

/* Whether the program can get the request of a flush in place of that of an operation:
 * not if the parameters insist on a request, or on none */
static int may_be_flush(const ucp_request_param_t *param)
{
    return !(param->op_attr_mask & (UCP_OP_ATTR_FLAG_NO_IMM_CMPL |
                                    UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL));
}

/* Whether an access has to be completed before its call returns, see
 * ucp_win_peer_is_scarce(). If so, @a plain has the parameters for the access, without
 * the program's callback: many programs set the data of the callback only when they have
 * got the request */
static int is_scarce(const access_t *access, const ucp_request_param_t *param,
                     ucp_request_param_t *plain)
{
    return ucs_unlikely(ucp_win_peer_is_scarce(access->window->peer)) &&
           may_be_flush(param) && ucp_win_ticket_strip(param, plain);
}

/* The chunks of an access were posted without requests for the program, and some of them
 * go on.
 * @return the request of a flush, which does not end before the access; NULL if the
 * program waits for a flush of its own. The flush gets the fields for the request, the
 * callback and its argument: UCP accepts no other field for a flush */
static ucs_status_ptr_t
follow(access_t *access, const ucp_request_param_t *param)
{
    ucp_request_param_t flush;

    if (access->is_implicit) {
        return NULL;
    }

    ucp_fh_param_copy(&flush, param, UCP_OP_ATTR_FIELD_REQUEST |
                                     UCP_OP_ATTR_FIELD_CALLBACK |
                                     UCP_OP_ATTR_FIELD_USER_DATA);
    access->goes_on = 0;
    return ucp_win_flush_nbx(access->way->super.worker, access->way->super.ep, &flush);
}

/* Complete an access that was posted, if this does not take too long, see
 * ucp_win_way_wait().
 * @return the status of the access, or a request for the program to wait for. A callback
 * of UCP may close the endpoint meanwhile: so this function holds a reference to the
 * way */
static ucs_status_ptr_t finish(access_t *access, ucs_status_ptr_t request,
                               const ucp_request_param_t *param)
{
    ucp_win_way_t *way = access->way;
    ucs_status_t status;

    keep(access);
    if (UCS_PTR_IS_ERR(request)) {
        return request;
    }

    ucp_fh_way_ref(&way->super);
    status          = ucp_win_way_complete(way, request);
    access->goes_on = (status == UCS_INPROGRESS);
    request         = !access->goes_on      ? UCS_STATUS_PTR(status) :
                      way->super.is_closing ? UCS_STATUS_PTR(UCS_ERR_CANCELED) :
                                              follow(access, param);
    ucp_fh_way_put(&way->super);
    return request;
}

/* Whether the present piece has the bucket of an address */
static int has_piece(const access_t *access, uint64_t address)
{
    const ucp_fh_link_t *link = &ucp_win_fh()->links[access->window->peer];

    return (access->piece != NULL) &&
           ucp_fh_run_has(&access->piece->request.run, address >> link->shift);
}

/* Get the next chunk of an access, in an exposed bucket of its window */
static ucs_status_t
next_in_buckets(access_t *access, uint64_t address, size_t length,
                ucp_fh_chunk_t *chunk)
{
    ucp_fh_t *fh = ucp_win_fh();
    ucs_status_t status;

    if (has_piece(access, address)) {
        ucp_fh_piece_find(fh, access->piece, address, chunk);
    } else {
        keep(access);
        status = ucp_win_acquire(access->way, address, length, &access->piece,
                                 chunk);
        if (status != UCS_OK) {
            return status;
        }
    }

    return ucp_fh_chunk_open(fh, access->piece, &access->window->rest, address,
                             length, !access->is_read, chunk);
}

/* Get the next chunk of an access, which begins after @a done bytes: its key, and its
 * length */
static ucs_status_t
next_chunk(access_t *access, size_t done, ucp_fh_chunk_t *chunk)
{
    const ucp_win_remote_t *window = access->window;
    uint64_t address               = access->super.remote + done;
    size_t length                  = access->super.length - done;

    if (ucs_unlikely(address < window->range.first)) {
        chunk->rkey   = window->head;
        chunk->length = ucs_min(length, window->range.first - address);
        return UCS_OK;
    }

    if (ucs_unlikely(address >= window->range.last)) {
        chunk->rkey   = window->tail;
        chunk->length = length;
        return UCS_OK;
    }

    return next_in_buckets(access, address,
                           ucs_min(length, window->range.last - address), chunk);
}

/* Post a chunk without a request for the program. @return UCS_INPROGRESS: the chunk goes
 * on */
static ucs_status_t
post_chunk(access_t *access, size_t done, const ucp_fh_chunk_t *chunk)
{
    ucs_status_ptr_t request;

    if (!access->is_apart) {
        ucp_win.env->begin_whole(access->super.buffer, access->super.length);
    }
    request = ucp_fh_post(access->ep, &access->super, done, chunk->length,
                          chunk->rkey, &no_param);
    access->is_apart |= ucp_win.env->end_whole();
    return ucp_win_drop(request);
}

static ucs_status_t post_chunks(access_t *access, ucp_fh_chunk_t *chunk)
{
    size_t done = 0;
    ucs_status_t status;

    for (;;) {
        status = post_chunk(access, done, chunk);
        if (UCS_STATUS_IS_ERR(status)) {
            return status;
        }

        access->goes_on |= (status == UCS_INPROGRESS);
        done            += chunk->length;
        if (done == access->super.length) {
            return UCS_OK;
        }

        status = next_chunk(access, done, chunk);
        if (status != UCS_OK) {
            return status;
        }
    }
}

/* @return UCS_OK if an access may be posted in several chunks, or an error for the
 *         program */
static ucs_status_t
check_chunks(const access_t *access, const ucp_request_param_t *param)
{
    if (access->super.kind == UCP_FH_OP_ATOMIC) { /* In two buckets only if its address is
                                                     not aligned */
        return UCS_ERR_INVALID_PARAM;
    }

    if (!may_be_flush(param)) {
        ucs_error("windows: an access of more than one bucket, with "
                  "UCP_OP_ATTR_FLAG_NO_IMM_CMPL or FORCE_IMM_CMPL; "
                  "UCX_RCACHE_PRED_WINDOWS=pin does without");
        return UCS_ERR_UNSUPPORTED;
    }

    return UCS_OK;
}

/* Post a put or get of several chunks, from the first one, @a chunk, on. If a chunk goes
 * on, the program gets the request of a flush, see follow() */
static ucs_status_ptr_t access_chunks(access_t *access, ucp_fh_chunk_t *chunk,
                                      const ucp_request_param_t *param)
{
    ucp_request_param_t plain;
    ucs_status_t status;

    status = post_chunks(access, chunk);
    if ((status == UCS_OK) && is_scarce(access, param, &plain)) {
        return finish(access, NULL, param);
    }

    keep(access);
    if ((status != UCS_OK) || !access->goes_on) {
        return UCS_STATUS_PTR(status);
    }
    return follow(access, param);
}

static ucs_status_ptr_t
post(const access_t *access, ucp_rkey_h rkey, const ucp_request_param_t *param)
{
    return ucp_fh_post(access->ep, &access->super, 0, access->super.count, rkey, param);
}

/* Post an access of one chunk: the program gets UCP's own request, unless firehoses are
 * scarce */
static ucs_status_ptr_t access_one(access_t *access, const ucp_fh_chunk_t *chunk,
                                   const ucp_request_param_t *param)
{
    ucp_win_ticket_t *ticket = NULL;
    ucp_request_param_t plain;
    ucs_status_ptr_t request;

    if (is_scarce(access, param, &plain)) {
        return finish(access, post(access, chunk->rkey, &plain), param);
    }

    if (access->is_read && (access->piece != NULL)) {
        ticket = ucp_win_ticket_make(param);
    }

    if (ticket == NULL) {
        request = post(access, chunk->rkey, param);
        keep(access);
        return request;
    }

    ucs_list_add_tail(&ticket->pieces, &access->piece->link);
    return ucp_win_ticket_issued(ticket, post(access, chunk->rkey, &ticket->param));
}

/* @return the key for a write by a memo (way.h), or NULL. If is_threaded is set, no write
 * goes by a memo: each access has to look whether firehoses are scarce */
static ucp_rkey_h find_memo(const access_t *access)
{
    return (access->is_read ||
            ucs_relaxed_load(&ucp_win.is_threaded)) ?
                   NULL : ucp_fh_way_memo(ucp_win_fh(), &access->way->super,
                                          access->super.remote,
                                          access->super.length);
}

static ucs_status_ptr_t
begin(access_t *access, ucp_rkey_h rkey, const ucp_request_param_t *param)
{
    ucp_fh_chunk_t chunk;
    ucs_status_t status;
    ucp_rkey_h found;
    int has_others;

    status = start(access, rkey);
    if (status != UCS_OK) {
        return UCS_STATUS_PTR(status);
    }

    found = find_memo(access);
    if (found != NULL) {
        return post(access, found, param);
    }

    status     = next_chunk(access, 0, &chunk);
    has_others = (status == UCS_OK) && (chunk.length < access->super.length);
    if (has_others) {
        status = check_chunks(access, param);
    }
    if (status == UCS_OK) {
        return has_others ? access_chunks(access, &chunk, param) :
                            access_one(access, &chunk, param);
    }

    if (access->piece != NULL) {
        ucp_win_piece_end(access->piece); /* Nothing went through the piece */
    }
    return UCS_STATUS_PTR(status);
}

static ucs_status_ptr_t
access_window(access_t *access, ucp_rkey_h rkey, const ucp_request_param_t *param)
{
    ucs_status_ptr_t request;
    ucp_win_entry_t entry;

    if (!enter(&entry)) {
        return UCS_STATUS_PTR(UCS_ERR_UNREACHABLE);
    }

    access->is_read = !ucp_fh_is_write(access->super.kind, param);
    if (ucs_likely(access->super.length > 0)) {
        request = begin(access, rkey, param);
    } else if (access->super.count == 0) {
        request = NULL;
    } else {
        ucs_error("windows: a datatype that is not contiguous; "
                  "UCX_RCACHE_PRED_WINDOWS=pin does without");
        request = UCS_STATUS_PTR(UCS_ERR_UNSUPPORTED);
    }
    ucp_win_leave(entry);
    return request;
}

static access_t make_access(ucp_fh_op_kind_t kind, ucp_ep_h ep, const void *buffer,
                            size_t count, uint64_t address,
                            const ucp_request_param_t *param)
{
    return (access_t){
        .super = ucp_fh_access_make(kind, buffer, count, address, param),
        .ep    = ep
    };
}

ucs_status_ptr_t ucp_win_put_nbx(ucp_ep_h ep, const void *buffer, size_t count,
                                 uint64_t remote_addr, ucp_rkey_h rkey,
                                 const ucp_request_param_t *param)
{
    access_t access = make_access(UCP_FH_OP_PUT, ep, buffer, count, remote_addr,
                                  param);

    return access_window(&access, rkey, param);
}

ucs_status_ptr_t ucp_win_get_nbx(ucp_ep_h ep, void *buffer, size_t count,
                                 uint64_t remote_addr, ucp_rkey_h rkey,
                                 const ucp_request_param_t *param)
{
    access_t access = make_access(UCP_FH_OP_GET, ep, buffer, count, remote_addr,
                                  param);

    return access_window(&access, rkey, param);
}

/* Begin an access for which the program gets no request, and waits by a flush of its
 * own */
static ucs_status_t
access_implicit(ucp_fh_op_kind_t kind, ucp_ep_h ep, const void *buffer,
                size_t length, uint64_t remote_addr, ucp_rkey_h rkey)
{
    access_t access = make_access(kind, ep, buffer, length, remote_addr, &no_param);
    ucs_status_ptr_t request;

    access.is_implicit = 1;
    request            = access_window(&access, rkey, &no_param);
    return ((request == NULL) && access.goes_on) ? UCS_INPROGRESS :
                                                   ucp_win_drop(request);
}

ucs_status_t ucp_win_put_nbi(ucp_ep_h ep, const void *buffer, size_t length,
                             uint64_t remote_addr, ucp_rkey_h rkey)
{
    return access_implicit(UCP_FH_OP_PUT, ep, buffer, length, remote_addr, rkey);
}

ucs_status_t ucp_win_get_nbi(ucp_ep_h ep, void *buffer, size_t length,
                             uint64_t remote_addr, ucp_rkey_h rkey)
{
    return access_implicit(UCP_FH_OP_GET, ep, buffer, length, remote_addr, rkey);
}

ucs_status_ptr_t
ucp_win_atomic_op_nbx(ucp_ep_h ep, ucp_atomic_op_t opcode, const void *buffer,
                      size_t count, uint64_t remote_addr, ucp_rkey_h rkey,
                      const ucp_request_param_t *param)
{
    access_t access = make_access(UCP_FH_OP_ATOMIC, ep, buffer, count, remote_addr,
                                  param);

    access.super.opcode = opcode;
    return access_window(&access, rkey, param);
}
