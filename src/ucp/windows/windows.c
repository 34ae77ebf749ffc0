/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "calls.h"

/* The older calls, made of the newer ones, as UCP up to 1.23 makes them */

/* The callback of a newer call that stands for an older one. Its argument @a user_data is
 * the program's callback of the older form, which takes no argument of its own */
static void call_old(void *request, ucs_status_t status, void *user_data)
{
    ((ucp_send_callback_t)user_data)(request, status);
}

static ucp_request_param_t old_param(ucp_send_callback_t cb)
{
    return (ucp_request_param_t){
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send      = call_old,
        .user_data    = (void*)cb
    };
}

static const ucp_request_param_t no_param = {.op_attr_mask = 0};

/* Wait for a request on a worker or, if @a worker is NULL, on an endpoint */
static ucs_status_t
wait(ucp_worker_h worker, ucp_ep_h ep, ucs_status_ptr_t request)
{
    ucs_status_t status;

    if (!UCS_PTR_IS_PTR(request)) {
        return UCS_PTR_STATUS(request);
    }

    if (worker == NULL) {
        worker = ucp_win_way_find(ep)->super.worker;
    }
    while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) {
        ucp_worker_progress(worker);
    }
    ucp_request_free(request);
    return status;
}

static ucs_status_ptr_t put_nb(ucp_ep_h ep, const void *buffer, size_t length,
                               uint64_t remote_addr, ucp_rkey_h rkey,
                               ucp_send_callback_t cb)
{
    ucp_request_param_t param = old_param(cb);

    return ucp_win_put_nbx(ep, buffer, length, remote_addr, rkey, &param);
}

static ucs_status_t put(ucp_ep_h ep, const void *buffer, size_t length,
                        uint64_t remote_addr, ucp_rkey_h rkey)
{
    return wait(NULL, ep, ucp_win_put_nbx(ep, buffer, length, remote_addr, rkey,
                                          &no_param));
}

static ucs_status_ptr_t get_nb(ucp_ep_h ep, void *buffer, size_t length,
                               uint64_t remote_addr, ucp_rkey_h rkey,
                               ucp_send_callback_t cb)
{
    ucp_request_param_t param = old_param(cb);

    return ucp_win_get_nbx(ep, buffer, length, remote_addr, rkey, &param);
}

static ucs_status_t get(ucp_ep_h ep, void *buffer, size_t length,
                        uint64_t remote_addr, ucp_rkey_h rkey)
{
    return wait(NULL, ep, ucp_win_get_nbx(ep, buffer, length, remote_addr, rkey,
                                          &no_param));
}

/* @return the operation of the newer call, or UCP_ATOMIC_OP_LAST if @a opcode is
 *         unknown */
static ucp_atomic_op_t post_op(ucp_atomic_post_op_t opcode)
{
    static const ucp_atomic_op_t ops[UCP_ATOMIC_POST_OP_LAST] = {
        [UCP_ATOMIC_POST_OP_ADD] = UCP_ATOMIC_OP_ADD,
        [UCP_ATOMIC_POST_OP_AND] = UCP_ATOMIC_OP_AND,
        [UCP_ATOMIC_POST_OP_OR]  = UCP_ATOMIC_OP_OR,
        [UCP_ATOMIC_POST_OP_XOR] = UCP_ATOMIC_OP_XOR
    };

    return ((unsigned)opcode < UCP_ATOMIC_POST_OP_LAST) ? ops[opcode] :
                                                          UCP_ATOMIC_OP_LAST;
}

static ucp_atomic_op_t fetch_op(ucp_atomic_fetch_op_t opcode)
{
    static const ucp_atomic_op_t ops[UCP_ATOMIC_FETCH_OP_LAST] = {
        [UCP_ATOMIC_FETCH_OP_FADD]  = UCP_ATOMIC_OP_ADD,
        [UCP_ATOMIC_FETCH_OP_SWAP]  = UCP_ATOMIC_OP_SWAP,
        [UCP_ATOMIC_FETCH_OP_CSWAP] = UCP_ATOMIC_OP_CSWAP,
        [UCP_ATOMIC_FETCH_OP_FAND]  = UCP_ATOMIC_OP_AND,
        [UCP_ATOMIC_FETCH_OP_FOR]   = UCP_ATOMIC_OP_OR,
        [UCP_ATOMIC_FETCH_OP_FXOR]  = UCP_ATOMIC_OP_XOR
    };

    return ((unsigned)opcode < UCP_ATOMIC_FETCH_OP_LAST) ? ops[opcode] :
                                                           UCP_ATOMIC_OP_LAST;
}

/* Begin an atomic operation. UCP copies the operand before its function returns: the
 * operand may be a variable of the caller */
static ucs_status_ptr_t
atomic(ucp_ep_h ep, ucp_atomic_op_t opcode, const void *operand, void *result,
       size_t size, uint64_t remote_addr, ucp_rkey_h rkey,
       const ucp_request_param_t *base)
{
    ucp_request_param_t param = *base;

    if ((opcode == UCP_ATOMIC_OP_LAST) || ((size != 4) && (size != 8))) {
        return UCS_STATUS_PTR(UCS_ERR_INVALID_PARAM);
    }

    param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
    param.datatype      = ucp_dt_make_contig(size);
    if (result != NULL) {
        param.op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER;
        param.reply_buffer  = result;
    }
    return ucp_win_atomic_op_nbx(ep, opcode, operand, 1, remote_addr, rkey,
                                 &param);
}

static ucs_status_t
atomic_post(ucp_ep_h ep, ucp_atomic_post_op_t opcode, uint64_t value,
            size_t op_size, uint64_t remote_addr, ucp_rkey_h rkey)
{
    return ucp_win_drop(atomic(ep, post_op(opcode), &value, NULL, op_size, remote_addr,
                       rkey, &no_param));
}

static ucs_status_ptr_t
atomic_fetch_nb(ucp_ep_h ep, ucp_atomic_fetch_op_t opcode, uint64_t value,
                void *result, size_t op_size, uint64_t remote_addr,
                ucp_rkey_h rkey, ucp_send_callback_t cb)
{
    ucp_request_param_t param = old_param(cb);

    return atomic(ep, fetch_op(opcode), &value, result, op_size, remote_addr,
                  rkey, &param);
}

/* The blocking forms, of 32 and 64 bits */
#define BLOCKING(_bits) \
    static ucs_status_t fadd##_bits(ucp_ep_h ep, uint##_bits##_t add, \
                                    uint64_t remote_addr, ucp_rkey_h rkey, \
                                    uint##_bits##_t *result) \
    { \
        return wait(NULL, ep, \
                    atomic(ep, UCP_ATOMIC_OP_ADD, &add, result, sizeof(add), \
                           remote_addr, rkey, &no_param)); \
    } \
    \
    static ucs_status_t add##_bits(ucp_ep_h ep, uint##_bits##_t add, \
                                   uint64_t remote_addr, ucp_rkey_h rkey) \
    { \
        return fadd##_bits(ep, add, remote_addr, rkey, NULL); \
    } \
    \
    static ucs_status_t swap##_bits(ucp_ep_h ep, uint##_bits##_t swap, \
                                    uint64_t remote_addr, ucp_rkey_h rkey, \
                                    uint##_bits##_t *result) \
    { \
        return wait(NULL, ep, \
                    atomic(ep, UCP_ATOMIC_OP_SWAP, &swap, result, \
                           sizeof(swap), remote_addr, rkey, &no_param)); \
    } \
    \
    /* At first the result has the value to write */ \
    static ucs_status_t \
    cswap##_bits(ucp_ep_h ep, uint##_bits##_t compare, uint##_bits##_t swap, \
                 uint64_t remote_addr, ucp_rkey_h rkey, \
                 uint##_bits##_t *result) \
    { \
        uint##_bits##_t value = swap; \
        ucs_status_t status; \
        \
        status = wait(NULL, ep, \
                      atomic(ep, UCP_ATOMIC_OP_CSWAP, &compare, &value, \
                             sizeof(value), remote_addr, rkey, &no_param)); \
        if (status == UCS_OK) { \
            *result = value; \
        } \
        return status; \
    }

BLOCKING(32)
BLOCKING(64)

static ucs_status_ptr_t flush_nb(ucp_worker_h worker, ucp_ep_h ep,
                                 ucp_send_callback_t cb)
{
    ucp_request_param_t param = old_param(cb);

    return ucp_win_flush_nbx(worker, ep, &param);
}

static ucs_status_t flush(ucp_worker_h worker, ucp_ep_h ep)
{
    return wait(worker, ep, ucp_win_flush_nbx(worker, ep, &no_param));
}


static const predreg_windows_t windows = {
    .serves              = ucp_win_serves,
    .ucp_put_nbx         = ucp_win_put_nbx,
    .ucp_put_nb          = put_nb,
    .ucp_put_nbi         = ucp_win_put_nbi,
    .ucp_put             = put,
    .ucp_get_nbx         = ucp_win_get_nbx,
    .ucp_get_nb          = get_nb,
    .ucp_get_nbi         = ucp_win_get_nbi,
    .ucp_get             = get,
    .ucp_atomic_op_nbx   = ucp_win_atomic_op_nbx,
    .ucp_atomic_post     = atomic_post,
    .ucp_atomic_fetch_nb = atomic_fetch_nb,
    .ucp_atomic_add32    = add32,
    .ucp_atomic_add64    = add64,
    .ucp_atomic_fadd32   = fadd32,
    .ucp_atomic_fadd64   = fadd64,
    .ucp_atomic_swap32   = swap32,
    .ucp_atomic_swap64   = swap64,
    .ucp_atomic_cswap32  = cswap32,
    .ucp_atomic_cswap64  = cswap64,
    .mem_map             = ucp_win_mem_map,
    .mem_unmapping       = ucp_win_mem_unmapping,
    .is_window           = ucp_win_is_window,
    .rkey_pack           = ucp_win_rkey_pack,
    .packed_release      = ucp_win_packed_release,
    .rkey_unpack         = ucp_win_rkey_unpack,
    .rkey_compare        = ucp_win_rkey_compare,
    .rkey_destroying     = ucp_win_rkey_destroying,
    .request_freeing     = ucp_win_ticket_freeing,
    .context_made        = ucp_win_context_add,
    .worker_made         = ucp_win_worker_add,
    .worker_destroying   = ucp_win_way_close_worker,
    .cleaning            = ucp_win_end,
    .ep_made             = ucp_win_way_add,
    .ep_closing          = ucp_win_way_begin_close,
    .ep_closed           = ucp_win_way_closed,
    .needs_flush         = ucp_win_needs_flush,
    .flush_nbx           = ucp_win_flush_nbx,
    .flush_nb            = flush_nb,
    .flush               = flush,
    .progressed          = ucp_win_way_progressed
};


/* The only exported function, for libuct_predreg.so */
__attribute__((visibility("default"))) const predreg_windows_t *
ucp_windows_init_4(const predreg_windows_env_t *env)
{
    ucp_win_start_init(env);
    return &windows;
}
