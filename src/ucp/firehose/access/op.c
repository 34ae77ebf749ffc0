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

/* The bit that tells a request that is an operation of the library from one of
 * UCP, see op.h */
#define OP_BIT ((uintptr_t)1)


ucs_status_t ucp_fh_op_check_param(const ucp_request_param_t *param)
{
    if (param->op_attr_mask & ~(uint32_t)(PASSED | UCP_OP_ATTR_FIELD_CALLBACK |
                                          UCP_OP_ATTR_FIELD_USER_DATA)) {
        return UCS_ERR_UNSUPPORTED;
    }

    /* That of a pin which meets several buckets. UCP from 1.16 on asserts that
     * there is one */
    return ((param->op_attr_mask & UCP_OP_ATTR_FIELD_MEMH) &&
            (param->memh == NULL)) ? UCS_ERR_INVALID_PARAM : UCS_OK;
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

ucp_fh_op_t *ucp_fh_op_make(ucp_fh_worker_h worker, ucp_fh_op_kind_t kind,
                            const ucp_request_param_t *param)
{
    ucp_fh_op_t *op = malloc(sizeof(*op));

    if (op == NULL) {
        return NULL;
    }

    op->worker       = worker;
    op->way          = NULL;
    op->kind         = kind;
    op->posted       = 0;
    op->has_callback = 0;
    op->user_data    = NULL;
    copy_param(op, param);
    atomic_init(&op->state, 0);
    atomic_init(&op->pending, 1);
    atomic_init(&op->error, UCS_OK);
    atomic_init(&op->result, UCS_INPROGRESS);
    return op;
}

void ucp_fh_op_fail(ucp_fh_op_t *op, ucs_status_t status)
{
    int none = UCS_OK;

    (void)atomic_compare_exchange_strong(&op->error, &none, status);
}

/* @return the request by which the program knows an operation */
static void *to_request(ucp_fh_op_t *op)
{
    return UCS_PTR_BYTE_OFFSET(op, OP_BIT);
}

/* @return the operation that the program knows by a request, or NULL if the
 *         request is one of UCP */
static ucp_fh_op_t *to_op(void *request)
{
    return ((uintptr_t)request & OP_BIT) ?
                   (ucp_fh_op_t*)((uintptr_t)request & ~OP_BIT) : NULL;
}

/* Set a flag. Acquire and release: whoever finds the flag of the other goes on
 * with all that the other has written.
 *
 * @return the flags that were set before. */
static unsigned set_flag(ucp_fh_op_t *op, unsigned flag)
{
    return atomic_fetch_or_explicit(&op->state, flag, memory_order_acq_rel);
}

/* Tell the program, if it wants to be told. The operation may be gone
 * afterwards */
static void tell(ucp_fh_op_t *op, int is_wanted)
{
    if (op->has_callback && is_wanted) {
        op->callback(to_request(op),
                     atomic_load_explicit(&op->result, memory_order_relaxed),
                     op->user_data);
    }

    if (set_flag(op, UCP_FH_OP_TOLD) & UCP_FH_OP_FREED) {
        free(op);
    }
}

/* Whether a part was the last one that is pending. If there is but one, nobody
 * else can change that. Acquire and release: the last one knows what the others
 * have written */
static int is_last_part(ucp_fh_op_t *op)
{
    return (atomic_load_explicit(&op->pending, memory_order_acquire) == 1) ||
           (atomic_fetch_sub_explicit(&op->pending, 1,
                                      memory_order_acq_rel) == 1);
}

void ucp_fh_op_end_part(ucp_fh_op_t *op)
{
    int is_freed;

    if (!is_last_part(op)) {
        return;
    }

    /* Before there is a result: a program that has seen it may free the request, and
     * is told nevertheless. Relaxed: if another thread frees it just now, either is
     * right */
    is_freed = atomic_load_explicit(&op->state, memory_order_relaxed) &
               UCP_FH_OP_FREED;

    /* Release: a program that polls the result finds what was read */
    atomic_store_explicit(&op->result,
                          atomic_load_explicit(&op->error,
                                               memory_order_relaxed),
                          memory_order_release);
    if (set_flag(op, UCP_FH_OP_ENDED) & UCP_FH_OP_RETURNED) {
        tell(op, !is_freed);
    }
}

ucs_status_ptr_t ucp_fh_op_return(ucp_fh_op_t *op)
{
    ucs_status_t result;

    /* Not by the result, which is written before whoever does so is done with
     * the operation */
    if (!(set_flag(op, UCP_FH_OP_RETURNED) & UCP_FH_OP_ENDED)) {
        return to_request(op);
    }

    result = atomic_load_explicit(&op->result, memory_order_relaxed);
    free(op);
    return UCS_STATUS_PTR(result);
}

ucs_status_t ucp_fh_request_check_status(void *request)
{
    ucp_fh_op_t *op = to_op(request);

    /* Acquire: see ucp_fh_op_end_part() */
    return (op == NULL) ? ucp_request_check_status(request) :
                          atomic_load_explicit(&op->result,
                                               memory_order_acquire);
}

void ucp_fh_request_free(void *request)
{
    ucp_fh_op_t *op = to_op(request);

    if (op == NULL) {
        ucp_request_free(request);
    } else if (set_flag(op, UCP_FH_OP_FREED) & UCP_FH_OP_TOLD) {
        free(op);
    }
}
