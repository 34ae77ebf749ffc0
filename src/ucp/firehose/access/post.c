/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "way.h"

/* Calls of UCP for a worker of the program, and their parameters */


int ucp_fh_is_multi(ucp_worker_h worker)
{
    ucp_worker_attr_t attr = {.field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE};

    return (ucp_worker_query(worker, &attr) != UCS_OK) ||
           (attr.thread_mode == UCS_THREAD_MODE_MULTI);
}

ucs_status_ptr_t ucp_fh_post(ucp_ep_h ep, const ucp_fh_access_t *access, size_t done,
                             size_t count, ucp_rkey_h rkey,
                             const ucp_request_param_t *param)
{
    void *buffer    = UCS_PTR_BYTE_OFFSET(access->buffer, done);
    uint64_t remote = access->remote + done;

    switch (access->kind) {
    case UCP_FH_OP_PUT:
        return ucp_put_nbx(ep, buffer, count, remote, rkey, param);
    case UCP_FH_OP_GET:
        return ucp_get_nbx(ep, buffer, count, remote, rkey, param);
    default:
        return ucp_atomic_op_nbx(ep, access->opcode, buffer, count, remote, rkey,
                                 param);
    }
}

void ucp_fh_param_copy(ucp_request_param_t *copy, const ucp_request_param_t *param,
                       uint32_t mask)
{
    mask              &= param->op_attr_mask;
    copy->op_attr_mask = mask;
    if (mask & UCP_OP_ATTR_FIELD_REQUEST) {
        copy->request = param->request;
    }
    if (mask & UCP_OP_ATTR_FIELD_CALLBACK) {
        copy->cb.send = param->cb.send;
    }
    if (mask & UCP_OP_ATTR_FIELD_USER_DATA) {
        copy->user_data = param->user_data;
    }
    if (mask & UCP_OP_ATTR_FIELD_DATATYPE) {
        copy->datatype = param->datatype;
    }
    if (mask & UCP_OP_ATTR_FIELD_FLAGS) {
        copy->flags = param->flags;
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

size_t ucp_fh_param_length(const ucp_request_param_t *param, size_t count)
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
