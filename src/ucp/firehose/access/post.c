/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "post.h"


int ucp_fh_is_write(const ucp_fh_op_t *op)
{
    return (op->kind == UCP_FH_OP_PUT) ||
           ((op->kind == UCP_FH_OP_ATOMIC) &&
            !(op->param.op_attr_mask & UCP_OP_ATTR_FIELD_REPLY_BUFFER));
}

/* Give back the firehoses of a piece, since nothing reads through them any more,
 * or nothing ever has */
static void release(ucp_fh_piece_t *piece)
{
    ucp_fh_t *fh = piece->way->worker->fh;

    ucp_fh_lock(fh);
    ucp_fh_piece_release(piece);
    ucp_fh_unlock(fh);
}

void ucp_fh_end_part_of_piece(ucp_fh_piece_t *piece)
{
    if (atomic_fetch_sub(&piece->pending, 1) == 1) {
        release(piece);
    }
}

static void has_ended(void *request, ucs_status_t status, void *user_data)
{
    ucp_fh_op_t *op = user_data;

    ucp_request_free(request);
    ucp_fh_op_note(op, status);
    ucp_fh_op_end_part(op);
}

static void has_read(void *request, ucs_status_t status, void *user_data)
{
    ucp_fh_piece_t *piece = user_data;
    ucp_fh_op_t *op       = piece->op;

    ucp_request_free(request);
    ucp_fh_op_note(op, status);
    ucp_fh_end_part_of_piece(piece);
    ucp_fh_op_end_part(op);
}

ucs_status_ptr_t ucp_fh_post(ucp_fh_op_t *op, ucp_fh_piece_t *piece,
                             size_t length, ucp_rkey_h rkey)
{
    ucp_request_param_t param = op->param;
    uint8_t *buffer           = op->buffer + op->posted;
    uint64_t remote           = op->remote + op->posted;
    ucp_ep_h ep               = op->way->ep;

    param.op_attr_mask |= UCP_OP_ATTR_FIELD_CALLBACK |
                          UCP_OP_ATTR_FIELD_USER_DATA;
    param.cb.send       = (piece == NULL) ? has_ended : has_read;
    param.user_data     = (piece == NULL) ? (void*)op : (void*)piece;
    switch (op->kind) {
    case UCP_FH_OP_PUT:
        return ucp_put_nbx(ep, buffer, length, remote, rkey, &param);
    case UCP_FH_OP_GET:
        return ucp_get_nbx(ep, buffer, length, remote, rkey, &param);
    default:
        return ucp_atomic_op_nbx(ep, op->opcode, buffer, 1, remote, rkey,
                                 &param);
    }
}
