/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "op.h"

#include <stdlib.h>

/* What of the program's parameters is handed to UCP as it is, besides what the
 * library replaces */
#define PASSED (UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_MEMORY_TYPE | \
                UCP_OP_ATTR_FIELD_MEMH | UCP_OP_ATTR_FIELD_REPLY_BUFFER | \
                UCP_OP_ATTR_FLAG_FAST_CMPL | UCP_OP_ATTR_FLAG_MULTI_SEND)


static ucs_status_t check_param(const ucp_request_param_t *param)
{
    return (param->op_attr_mask & ~(uint32_t)(PASSED |
                                              UCP_OP_ATTR_FIELD_CALLBACK |
                                              UCP_OP_ATTR_FIELD_USER_DATA)) ?
                   UCS_ERR_UNSUPPORTED : UCS_OK;
}

/* Only what the mask names is read: the program's structure may be that of
 * another version of UCX, which is the same so far */
static void copy_param(ucp_fh_op_t *op, const ucp_request_param_t *param)
{
    uint32_t mask = param->op_attr_mask;

    op->param.op_attr_mask = mask & PASSED;
    if (mask & UCP_OP_ATTR_FIELD_DATATYPE) {
        op->param.datatype = param->datatype;
    }
    if (mask & UCP_OP_ATTR_FIELD_MEMORY_TYPE) {
        op->param.memory_type = param->memory_type;
    }
    if (mask & UCP_OP_ATTR_FIELD_MEMH) {
        op->param.memh = param->memh;
    }
    if (mask & UCP_OP_ATTR_FIELD_REPLY_BUFFER) {
        op->param.reply_buffer = param->reply_buffer;
    }
    if (mask & UCP_OP_ATTR_FIELD_CALLBACK) {
        op->has_callback = 1;
        op->callback     = param->cb.send;
    }
    if (mask & UCP_OP_ATTR_FIELD_USER_DATA) {
        op->user_data = param->user_data;
    }
}

ucs_status_t ucp_fh_op_init(ucp_fh_op_t *op, ucp_fh_worker_h worker,
                            ucp_fh_op_kind_t kind,
                            const ucp_request_param_t *param)
{
    ucs_status_t status = check_param(param);

    if (status != UCS_OK) {
        return status;
    }

    op->fh           = worker->fh;
    op->worker       = worker;
    op->way          = NULL;
    op->kind         = kind;
    op->posted       = 0;
    op->has_callback = 0;
    op->user_data    = NULL;
    op->is_returned  = 0;
    op->is_told      = 0;
    op->is_freed     = 0;
    copy_param(op, param);
    atomic_init(&op->pending, 1);
    atomic_init(&op->error, UCS_OK);
    atomic_init(&op->result, UCS_INPROGRESS);
    return UCS_OK;
}

ucp_fh_op_t *
ucp_fh_op_make(ucp_fh_worker_h worker, ucp_fh_op_kind_t kind,
               const ucp_request_param_t *param, ucs_status_t *status_p)
{
    ucp_fh_op_t *op = malloc(sizeof(*op));

    if (op == NULL) {
        *status_p = UCS_ERR_NO_MEMORY;
        return NULL;
    }

    *status_p = ucp_fh_op_init(op, worker, kind, param);
    if (*status_p != UCS_OK) {
        free(op);
        return NULL;
    }
    return op;
}

void ucp_fh_op_fail(ucp_fh_op_t *op, ucs_status_t status)
{
    int none = UCS_OK;

    (void)atomic_compare_exchange_strong(&op->error, &none, status);
}

/* Tell the program, without lock. The operation may be gone afterwards */
static void tell(ucp_fh_op_t *op)
{
    ucp_fh_t *fh = op->fh;
    int is_freed;

    if (op->has_callback) {
        op->callback(op, atomic_load(&op->result), op->user_data);
    }

    ucp_fh_lock(fh);
    op->is_told = 1;
    is_freed    = op->is_freed;
    ucp_fh_unlock(fh);
    if (is_freed) {
        free(op);
    }
}

void ucp_fh_op_end_part(ucp_fh_op_t *op)
{
    ucp_fh_t *fh = op->fh;
    int is_returned;

    if (atomic_fetch_sub(&op->pending, 1) > 1) {
        return;
    }

    /* Under the lock, since the program's thread may just be about to return
     * it */
    ucp_fh_lock(fh);
    is_returned = op->is_returned;
    atomic_store(&op->result, atomic_load(&op->error));
    ucp_fh_unlock(fh);
    if (is_returned) {
        tell(op);
    }
}

ucs_status_ptr_t ucp_fh_op_return(ucp_fh_op_t *op)
{
    ucp_fh_t *fh = op->fh;
    ucs_status_t result;

    result = atomic_load(&op->result);
    if (result == UCS_INPROGRESS) {
        ucp_fh_lock(fh);
        result = atomic_load(&op->result);
        op->is_returned = (result == UCS_INPROGRESS);
        ucp_fh_unlock(fh);
    }

    if (result == UCS_INPROGRESS) {
        return op;
    }

    free(op);
    return UCS_STATUS_PTR(result);
}

ucs_status_t ucp_fh_request_check_status(void *request)
{
    ucp_fh_op_t *op = request;

    return atomic_load(&op->result);
}

void ucp_fh_request_free(void *request)
{
    ucp_fh_op_t *op = request;
    ucp_fh_t *fh    = op->fh;
    int is_told;

    ucp_fh_lock(fh);
    is_told      = op->is_told;
    op->is_freed = 1;
    ucp_fh_unlock(fh);
    if (is_told) {
        free(op);
    }
}
