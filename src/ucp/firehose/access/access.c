/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "access.h"

/* The public calls */


/* Whether an access is a write that UCP may get with the program's parameters. A put of
 * elements longer than a byte is none: UCX 1.13 takes the number of elements for a number
 * of bytes */
static int
is_plain_write(const ucp_fh_access_t *access, const ucp_request_param_t *param)
{
    return (access->length > 0) && ucp_fh_is_write(access->kind, param) &&
           ((access->kind != UCP_FH_OP_PUT) || (access->count == access->length));
}

/* Begin an access that has to ask the table for firehoses */
static ucs_status_ptr_t ask_table(ucp_fh_worker_h worker, ucp_fh_way_t *way,
                                  const ucp_fh_access_t *access,
                                  const ucp_request_param_t *param)
{
    ucp_fh_op_t *op = ucp_fh_op_make(worker, param);

    if (op == NULL) {
        return UCS_STATUS_PTR(UCS_ERR_NO_MEMORY);
    }

    op->way    = way;
    op->access = *access;
    if (access->kind != UCP_FH_OP_ATOMIC) {
        /* The library counts chunks in bytes, so UCP has to count bytes, not elements */
        op->param.op_attr_mask &= ~(uint32_t)UCP_OP_ATTR_FIELD_DATATYPE;
    }
    return ucp_fh_op_begin(op);
}

static ucs_status_ptr_t begin(ucp_fh_worker_h worker, uint32_t peer,
                              const ucp_fh_access_t *access,
                              const ucp_request_param_t *param)
{
    ucp_rkey_h rkey = NULL;
    ucp_fh_way_t *way;
    ucs_status_t status;

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

    if (is_plain_write(access, param)) {
        rkey = ucp_fh_way_memo(worker->fh, way, access->remote, access->length);
    }
    return (rkey == NULL) ?
                   ask_table(worker, way, access, param) :
                   ucp_fh_post(way->ep, access, 0, access->count, rkey, param);
}

static ucs_status_ptr_t
access_bytes(ucp_fh_worker_h worker, uint32_t peer, ucp_fh_op_kind_t kind,
             const void *buffer, size_t count, uint64_t remote,
             const ucp_request_param_t *param)
{
    ucp_fh_access_t access = ucp_fh_access_make(kind, buffer, count, remote, param);

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

/* Whether UCP has an atomic operation only in a form with a reply buffer, for the value
 * before */
static int needs_reply(ucp_atomic_op_t opcode)
{
    return (opcode == UCP_ATOMIC_OP_SWAP) || (opcode == UCP_ATOMIC_OP_CSWAP);
}

ucs_status_ptr_t
ucp_fh_atomic_op_nbx(ucp_fh_worker_h worker, uint32_t peer,
                     ucp_atomic_op_t opcode, const void *buffer,
                     uint64_t remote_address, const ucp_request_param_t *param)
{
    ucp_fh_access_t access = ucp_fh_access_make(UCP_FH_OP_ATOMIC, buffer, 1,
                                                remote_address, param);

    access.opcode = opcode;
    if (((access.length != 4) && (access.length != 8)) ||
        (remote_address % access.length != 0) ||
        (needs_reply(opcode) &&
         !(param->op_attr_mask & UCP_OP_ATTR_FIELD_REPLY_BUFFER))) {
        return UCS_STATUS_PTR(UCS_ERR_INVALID_PARAM);
    }

    return begin(worker, peer, &access, param);
}

ucs_status_ptr_t ucp_fh_flush_nbx(ucp_fh_worker_h worker,
                                  const ucp_request_param_t *param)
{
    ucs_status_t status = ucp_fh_op_check_param(param);
    ucp_fh_op_t *op;

    if (status != UCS_OK) {
        return UCS_STATUS_PTR(status);
    }

    op = ucp_fh_op_make(worker, param);
    return (op == NULL) ? UCS_STATUS_PTR(UCS_ERR_NO_MEMORY) : ucp_fh_op_flush(op);
}
