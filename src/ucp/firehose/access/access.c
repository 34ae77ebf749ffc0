/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "access.h"
#include "flush.h"
#include "held.h"
#include "pieces.h"
#include "post.h"

#include <ucp/firehose/core/outbox.h>
#include <ucp/firehose/core/settle.h>


/* What the program asks for */
typedef struct {
    ucp_fh_op_kind_t kind;
    ucp_atomic_op_t  opcode;
    uint8_t          *buffer;
    size_t           count;  /* Elements */
    size_t           length; /* Bytes */
    uint64_t         remote; /* Address at the peer */
} access_t;


static void all_flushed(void *arg, ucs_status_t status)
{
    ucp_fh_op_t *op = arg;

    ucp_fh_op_note(op, status);
    ucp_fh_op_end_part(op);
}

/* @return a flush that may begin, since all that came before it is posted; or
 * NULL */
static ucp_fh_op_t *next_flush(ucp_fh_worker_h worker)
{
    ucp_fh_op_t *op, *oldest;

    if (ucs_list_is_empty(&worker->flushes)) {
        return NULL;
    }

    op = ucs_list_head(&worker->flushes, ucp_fh_op_t, link);
    if (!ucs_list_is_empty(&worker->unposted)) {
        oldest = ucs_list_head(&worker->unposted, ucp_fh_op_t, link);
        if (oldest->number < op->number) {
            return NULL;
        }
    }

    ucs_list_del(&op->link);
    return op;
}

void ucp_fh_access_resume(ucp_fh_worker_h worker)
{
    ucp_fh_t *fh = worker->fh;
    ucp_fh_op_t *op, *flush;

    do {
        op = NULL;
        ucp_fh_lock(fh);
        if (!ucs_list_is_empty(&worker->ready)) {
            op = ucs_list_extract_head(&worker->ready, ucp_fh_op_t, ready);
        }
        flush = next_flush(worker);
        ucp_fh_unlock(fh);

        if (op != NULL) {
            ucp_fh_pieces_resume(op);
        }
        if (flush != NULL) {
            ucp_fh_flush_all(worker, &flush->flush, all_flushed, flush);
        }
    } while ((op != NULL) || (flush != NULL));
}

/* An operation gets its place in the order of its worker */
static void enter(ucp_fh_op_t *op, ucs_list_link_t *list)
{
    ucp_fh_worker_h worker = op->worker;

    ucp_fh_lock(worker->fh);
    op->number = worker->next_number++;
    ucs_list_add_tail(list, &op->link);
    ucp_fh_unlock(worker->fh);
}

/* @return bytes of so many elements, 0 if they are not contiguous; if there are
 *         more than can be counted, more than any process has */
static size_t
get_length(const ucp_request_param_t *param, size_t count)
{
    size_t length;

    if (!(param->op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE)) {
        return count;
    }

    if ((param->datatype & UCP_DATATYPE_CLASS_MASK) != UCP_DATATYPE_CONTIG) {
        return 0;
    }

    return __builtin_mul_overflow(count, param->datatype >> UCP_DATATYPE_SHIFT,
                                  &length) ? SIZE_MAX : length;
}

/* Under lock: others want what a way has firehoses on. The next write asks the table,
 * and gets nothing once those who wait have done so for long enough. Without, a thread
 * that writes and writes would never have to wait, nor progress its worker, by which
 * alone the flush ends that gives the firehoses back */
static void make_room(ucp_fh_way_t *way)
{
    ucp_fh_t *fh = way->worker->fh;

    ++way->epoch;
    ucp_fh_remote_insist(&fh->remote, way->peer.slot);
    if (ucp_fh_is_unsettled(fh)) {
        ucp_fh_wake(fh);
    }
}

/* If others want what a way has firehoses on, it is flushed, and has none from
 * then on */
static void look_after_others(ucp_fh_way_t *way)
{
    ucp_fh_t *fh = way->worker->fh;
    int is_due;

    way->num_quick = 0;
    ucp_fh_lock(fh);
    ucp_fh_worker_count(way->worker);
    is_due = ucp_fh_flush_is_due(way);
    if (ucp_fh_peer_is_wanted(&fh->remote.peers[way->peer.slot])) {
        make_room(way);
    }
    ucp_fh_unlock(fh);
    if (is_due) {
        ucp_fh_flush_way(way);
    }
}

/* Whether UCP may be handed a write as the program describes it. UCX 1.13 takes the
 * elements of a put for bytes, whatever the datatype */
static int is_plain_write(const access_t *access,
                          const ucp_request_param_t *param)
{
    return (access->length > 0) && ucp_fh_is_write(access->kind, param) &&
           ((access->kind != UCP_FH_OP_PUT) ||
            (access->count == access->length));
}

/* @return a key with which an access may be posted without asking the table, or
 *         NULL, see held.h */
static ucp_rkey_h find_held(ucp_fh_way_t *way, const access_t *access,
                            const ucp_request_param_t *param)
{
    ucp_fh_link_t *link = &way->worker->fh->links[way->peer.slot];

    if (way->worker->is_multi || !is_plain_write(access, param) ||
        (atomic_load_explicit(&link->status, memory_order_relaxed) != UCS_OK)) {
        return NULL;
    }

    if (ucs_unlikely(way->num_quick == UCP_FH_HELD_QUICK)) {
        look_after_others(way);
    }
    return ucp_fh_held_find(way, link->shift, access->remote, access->length);
}

/* An access that asks the table for its firehoses */
static ucs_status_ptr_t ask_table(ucp_fh_way_t *way, const access_t *access,
                                  const ucp_request_param_t *param)
{
    ucp_fh_op_t *op = ucp_fh_op_make(way->worker, access->kind, param);

    if (op == NULL) {
        return UCS_STATUS_PTR(UCS_ERR_NO_MEMORY);
    }

    op->way    = way;
    op->opcode = access->opcode;
    op->buffer = access->buffer;
    op->remote = access->remote;
    op->length = access->length;
    if (access->kind != UCP_FH_OP_ATOMIC) {
        /* The library counts bytes, so that UCP does as well */
        op->param.op_attr_mask &= ~(uint32_t)UCP_OP_ATTR_FIELD_DATATYPE;
    }

    enter(op, &way->worker->unposted);
    ucp_fh_pieces_begin(op);
    return ucp_fh_op_return(op);
}

static ucs_status_ptr_t begin(ucp_fh_worker_h worker, uint32_t peer,
                              const access_t *access,
                              const ucp_request_param_t *param)
{
    ucp_fh_way_t *way;
    ucs_status_t status;
    ucp_rkey_h rkey;

    way = ucp_fh_worker_way(worker, peer, &status);
    if (ucs_unlikely(way == NULL)) {
        return UCS_STATUS_PTR(status);
    }

    if (ucs_unlikely(access->remote + access->length < access->remote)) {
        return UCS_STATUS_PTR(UCS_ERR_INVALID_ADDR);
    }

    status = ucp_fh_op_check_param(param);
    if (ucs_unlikely(status != UCS_OK)) {
        return UCS_STATUS_PTR(status);
    }

    rkey = find_held(way, access, param);
    return (rkey == NULL) ?
                   ask_table(way, access, param) :
                   ucp_fh_post(way->ep, access->kind, access->opcode,
                               access->buffer, access->count, access->remote,
                               rkey, param);
}

static ucs_status_ptr_t
access_bytes(ucp_fh_worker_h worker, uint32_t peer, ucp_fh_op_kind_t kind,
             const void *buffer, size_t count, uint64_t remote,
             const ucp_request_param_t *param)
{
    access_t access = {
        .kind   = kind,
        .opcode = UCP_ATOMIC_OP_LAST,
        .buffer = (uint8_t*)buffer,
        .count  = count,
        .length = get_length(param, count),
        .remote = remote
    };

    return ((access.length == 0) && (count > 0)) ?
                   UCS_STATUS_PTR(UCS_ERR_UNSUPPORTED) :
                   begin(worker, peer, &access, param);
}

ucs_status_ptr_t ucp_fh_put_nbx(ucp_fh_worker_h worker, uint32_t peer,
                                const void *buffer, size_t count,
                                uint64_t remote_address,
                                const ucp_request_param_t *param)
{
    return access_bytes(worker, peer, UCP_FH_OP_PUT, buffer, count,
                        remote_address, param);
}

ucs_status_ptr_t ucp_fh_get_nbx(ucp_fh_worker_h worker, uint32_t peer,
                                void *buffer, size_t count,
                                uint64_t remote_address,
                                const ucp_request_param_t *param)
{
    return access_bytes(worker, peer, UCP_FH_OP_GET, buffer, count,
                        remote_address, param);
}

/* Whether UCP has an operation only in the form that returns what was there */
static int needs_reply(ucp_atomic_op_t opcode)
{
    return (opcode == UCP_ATOMIC_OP_SWAP) || (opcode == UCP_ATOMIC_OP_CSWAP);
}

ucs_status_ptr_t
ucp_fh_atomic_op_nbx(ucp_fh_worker_h worker, uint32_t peer,
                     ucp_atomic_op_t opcode, const void *buffer,
                     uint64_t remote_address, const ucp_request_param_t *param)
{
    access_t access = {
        .kind   = UCP_FH_OP_ATOMIC,
        .opcode = opcode,
        .buffer = (uint8_t*)buffer,
        .count  = 1,
        .length = get_length(param, 1),
        .remote = remote_address
    };

    if (((access.length != 4) && (access.length != 8)) ||
        (remote_address % access.length != 0) ||
        (needs_reply(opcode) &&
         !(param->op_attr_mask & UCP_OP_ATTR_FIELD_REPLY_BUFFER))) {
        return UCS_STATUS_PTR(UCS_ERR_INVALID_PARAM);
    }

    return begin(worker, peer, &access, param);
}

ucs_status_ptr_t ucp_fh_access_flush(ucp_fh_op_t *op)
{
    ucp_fh_worker_h worker = op->worker;

    enter(op, &worker->flushes);
    ucp_fh_access_resume(worker);
    return ucp_fh_op_return(op);
}

ucs_status_ptr_t ucp_fh_flush_nbx(ucp_fh_worker_h worker,
                                  const ucp_request_param_t *param)
{
    ucs_status_t status = ucp_fh_op_check_param(param);
    ucp_fh_op_t *op;

    if (status != UCS_OK) {
        return UCS_STATUS_PTR(status);
    }

    op = ucp_fh_op_make(worker, UCP_FH_OP_FLUSH, param);
    return (op == NULL) ? UCS_STATUS_PTR(UCS_ERR_NO_MEMORY) :
                          ucp_fh_access_flush(op);
}
