/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "post.h"


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

ucs_status_ptr_t ucp_fh_post(ucp_ep_h ep, ucp_fh_op_kind_t kind,
                             ucp_atomic_op_t opcode, void *buffer, size_t count,
                             uint64_t remote, ucp_rkey_h rkey,
                             const ucp_request_param_t *param)
{
    switch (kind) {
    case UCP_FH_OP_PUT:
        return ucp_put_nbx(ep, buffer, count, remote, rkey, param);
    case UCP_FH_OP_GET:
        return ucp_get_nbx(ep, buffer, count, remote, rkey, param);
    default:
        return ucp_atomic_op_nbx(ep, opcode, buffer, 1, remote, rkey, param);
    }
}

ucs_status_ptr_t ucp_fh_post_next(ucp_fh_op_t *op, ucp_fh_piece_t *piece,
                                  size_t length, ucp_rkey_h rkey)
{
    ucp_request_param_t param = op->param;

    param.op_attr_mask |= UCP_OP_ATTR_FIELD_CALLBACK |
                          UCP_OP_ATTR_FIELD_USER_DATA;
    param.cb.send       = (piece == NULL) ? has_ended : has_read;
    param.user_data     = (piece == NULL) ? (void*)op : (void*)piece;
    return ucp_fh_post(op->way->ep, op->kind, op->opcode,
                       op->buffer + op->posted, length, op->remote + op->posted,
                       rkey, &param);
}
