/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "length.h"
#include "preload.h"

#include <ucp/api/ucp_compat.h>

#include <string.h>

/*
 * Overriding functions for all communications of UCP. Each tells the core of the
 * communication and its call site (begin()), calls the function that it overrides, or
 * that of libucp_windows.so if the key of a put or get is that of a window, and ends the
 * communication (end()). UCP implements some communications by others, which come through
 * here again: the core is told of the outer call only, which the program made.
 *
 * begin() and end() are inlined, so that PREDREG_CALLER and the frame address are those
 * of the overriding function.
 */


/* A communication between begin() and end() */
typedef struct comm {
    unsigned              ucx;
    uct_predreg_purpose_t outer; /* Purpose of the thread before the communication */
} comm_t;

/* A send between begin_send() and end_send() */
typedef struct send {
    comm_t                    comm;
    unsigned                  changes; /* UCT_PREDREG_SEND_* */
    size_t                    length;  /* Bytes */
    size_t                    count;   /* What UCP gets, as the next field */
    const ucp_request_param_t *param;
} send_t;

/* The core's changes of a send. The changes are no part of send_t, since the core gets
 * their address: the compiler can keep the fields of send_t in registers */
typedef struct changed {
    uct_predreg_send_t  send;
    ucp_request_param_t param;
} changed_t;


const predreg_windows_t *predreg_serving(unsigned ucx, ucp_rkey_h rkey)
{
    const predreg_windows_t *windows = predreg_windows(ucx);

    return ((windows != NULL) && windows->serves(rkey)) ? windows : NULL;
}

/* Purpose of registrations by UCP for a communication. The data of a put with a datatype
 * unknown here, such as the lists of 1.22 (UCP_DATATYPE_SGL), may go to a function of an
 * interface that this library does not replace: such data must not get a pieces handle. */
static UCS_F_ALWAYS_INLINE uct_predreg_purpose_t
comm_purpose(ucs_rcache_pred_comm_t kind, ucp_datatype_t datatype)
{
    switch (kind) {
    case UCS_RCACHE_PRED_COMM_PUT:
    case UCS_RCACHE_PRED_COMM_GET:
        switch (datatype & UCP_DATATYPE_CLASS_MASK) {
        case UCP_DATATYPE_CONTIG:
        case UCP_DATATYPE_IOV:
        case UCP_DATATYPE_GENERIC:
            return UCT_PREDREG_PURPOSE_ONE_SIDED;
        default:
            return UCT_PREDREG_PURPOSE_MAPPED;
        }
    case UCS_RCACHE_PRED_COMM_SEND:
        return UCT_PREDREG_PURPOSE_SEND;
    default:
        return UCT_PREDREG_PURPOSE_MESSAGE;
    }
}

/* Begin a communication of @a length bytes. The core is told of a communication that may
 * register memory. The frame address lies a constant distance below the frame of the
 * caller, and so stands for the depth of the stack. */
static UCS_F_ALWAYS_INLINE comm_t
begin_on(unsigned ucx, ucs_rcache_pred_comm_t kind, const void *buffer, size_t length,
         ucp_datatype_t datatype)
{
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);
    comm_t comm                      = {ucx, predreg_thread.purpose};
    uct_predreg_comm_t issued;

    if ((length >= UCT_PREDREG_MIN_LENGTH) && (predreg_thread.depth == 0) &&
        (hooks != NULL)) {
        issued.kind   = kind;
        issued.buffer = buffer;
        issued.caller = PREDREG_CALLER;
        issued.stack  = __builtin_frame_address(0);
        hooks->comm(&predreg_thread.issuer, &issued);
    }

    if ((kind == UCS_RCACHE_PRED_COMM_GET) &&
        ucs_unlikely(length == PREDREG_DYNAMIC_KEYS)) {
        predreg_thread.dynamic_keys = buffer;
    }

    ++predreg_thread.depth;
    predreg_thread.purpose = comm_purpose(kind, datatype);
    return comm;
}

static UCS_F_ALWAYS_INLINE comm_t
begin(ucs_rcache_pred_comm_t kind, const void *buffer, size_t count,
      ucp_datatype_t datatype)
{
    return begin_on(predreg_ucx(PREDREG_CALLER), kind, buffer,
                    predreg_length(count, datatype), datatype);
}

/* End a communication. @return what UCP has returned */
static UCS_F_ALWAYS_INLINE ucs_status_ptr_t end(comm_t comm, ucs_status_ptr_t result)
{
    predreg_thread.purpose = comm.outer;
    --predreg_thread.depth;
    return result;
}


/* UCX 1.9 has introduced the structure of request parameters, with the fields up to
 * user_data (ucp.h). So these fields may be read whether they are set or not. A later field
 * may be missing in the structure of a program that was compiled with an older header. */
#define OLD_PART (offsetof(ucp_request_param_t, user_data) + sizeof(void*))

#define NEW_FIELDS \
    (UCP_OP_ATTR_FIELD_REPLY_BUFFER | UCP_OP_ATTR_FIELD_MEMORY_TYPE | \
     UCP_OP_ATTR_FIELD_RECV_INFO | UCP_OP_ATTR_FIELD_MEMH)

static UCS_F_NOINLINE void
copy_new_fields(ucp_request_param_t *copy, const ucp_request_param_t *param)
{
    if (param->op_attr_mask & UCP_OP_ATTR_FIELD_REPLY_BUFFER) {
        copy->reply_buffer = param->reply_buffer;
    }
    if (param->op_attr_mask & UCP_OP_ATTR_FIELD_MEMORY_TYPE) {
        copy->memory_type = param->memory_type;
    }
    if (param->op_attr_mask & UCP_OP_ATTR_FIELD_RECV_INFO) {
        copy->recv_info = param->recv_info;
    }
    if (param->op_attr_mask & UCP_OP_ATTR_FIELD_MEMH) {
        copy->memh = param->memh;
    }
}

/* Copy a program's request parameters without fields unknown here
 * (UCT_PREDREG_UNKNOWN_FIELDS) */
static void copy_param(ucp_request_param_t *copy, const ucp_request_param_t *param)
{
    memcpy(copy, param, OLD_PART);
    if (ucs_unlikely(param->op_attr_mask & NEW_FIELDS)) {
        copy_new_fields(copy, param);
    }
}

/* A memory handle of a window covers one page of the window in managed domains, so UCP must
 * register the data of a communication by itself. @return the parameters, or a copy of them
 * without such a handle */
static UCS_F_NOINLINE const ucp_request_param_t *
strip_window(unsigned ucx, const ucp_request_param_t *param, ucp_request_param_t *copy)
{
    const predreg_windows_t *windows = predreg_windows(ucx);

    if ((windows == NULL) || !(param->op_attr_mask & UCP_OP_ATTR_FIELD_MEMH) ||
        !windows->is_window(param->memh)) {
        return param;
    }

    if (param != copy) {
        copy_param(copy, param);
    }
    copy->op_attr_mask &= ~(uint32_t)UCP_OP_ATTR_FIELD_MEMH;
    return copy;
}

static UCS_F_ALWAYS_INLINE const ucp_request_param_t *
strip(unsigned ucx, const ucp_request_param_t *param, ucp_request_param_t *copy)
{
    return predreg_has_windows() ? strip_window(ucx, param, copy) : param;
}

/* Begin a communication with request parameters */
static UCS_F_ALWAYS_INLINE comm_t
begin_param(ucs_rcache_pred_comm_t kind, const void *buffer, size_t count,
            const ucp_request_param_t **param_p, ucp_request_param_t *copy)
{
    unsigned ucx = predreg_ucx(PREDREG_CALLER);
    comm_t comm  = begin_on(ucx, kind, buffer, predreg_request_length(count, *param_p),
                            predreg_request_datatype(*param_p));

    *param_p = strip(ucx, *param_p, copy);
    return comm;
}


/* Put the core's changes into a copy of request parameters */
static void change_param(changed_t *changed, const ucp_request_param_t *param,
                         unsigned changes)
{
    ucp_request_param_t *copy      = &changed->param;
    const uct_predreg_send_t *send = &changed->send;

    copy_param(copy, param);
    if (changes & UCT_PREDREG_SEND_DATATYPE) {
        copy->op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
        copy->datatype      = send->datatype;
    }

    if (changes & UCT_PREDREG_SEND_HOT) {
        copy->op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH | UCP_OP_ATTR_FIELD_CALLBACK |
                              UCP_OP_ATTR_FIELD_USER_DATA;
        copy->memh          = send->memh;
        copy->cb.send       = send->cb;
        copy->user_data     = send->user_data;
    }

    if (changes & UCT_PREDREG_SEND_FAST) {
        copy->op_attr_mask |= UCP_OP_ATTR_FLAG_FAST_CMPL;
    }
}

/* @return whether the core is to be asked about a send: by its length the message may go
 * without a copy. The core is asked in the calls with request parameters (_nbx) only: UCP
 * implements the older calls by these */
static UCS_F_ALWAYS_INLINE int
is_small_send(const uct_predreg_hooks_t *hooks, size_t length)
{
    return (length - UCT_PREDREG_SEND_MIN <=
            UCT_PREDREG_SEND_MAX - UCT_PREDREG_SEND_MIN) &&
           (hooks != NULL) && (hooks->send != NULL);
}

/* Ask the core about a small send, and make the changes that the core wants */
static UCS_F_ALWAYS_INLINE void
change_send(const uct_predreg_hooks_t *hooks, send_t *send, ucp_ep_h ep,
            const void *buffer, changed_t *changed)
{
    uct_predreg_purpose_t outer = predreg_thread.purpose;

    /* In this call the core may register the buffer, if the program sends the buffer
     * often (a hot buffer) */
    predreg_thread.purpose = UCT_PREDREG_PURPOSE_OPTIONAL;
    send->changes          = hooks->send(&predreg_thread.sender, ep, buffer, send->length,
                                         send->param, &changed->send);
    predreg_thread.purpose = outer;
    if (send->changes == 0) {
        return;
    }

    change_param(changed, send->param, send->changes);
    send->param = &changed->param;
    if (send->changes & UCT_PREDREG_SEND_DATATYPE) {
        send->count = send->length;
    }
}

/* Begin a send that the core may change. If the core changes the datatype, UCP copies the
 * buffer; if the core adds a handle, UCP uses the handle. UCP registers nothing then, so
 * begin_on() gets a length of 0 bytes, and does not tell the core of the communication */
static UCS_F_ALWAYS_INLINE send_t
begin_send(uct_predreg_message_t message, ucp_ep_h ep, const void *buffer, size_t count,
           const ucp_request_param_t *param, changed_t *changed)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);
    send_t send = {.length = predreg_request_length(count, param),
                   .count  = count,
                   .param  = param};

    if (is_small_send(hooks, send.length)) {
        changed->send.message = message;
        change_send(hooks, &send, ep, buffer, changed);
    }

    send.comm  = begin_on(ucx, UCS_RCACHE_PRED_COMM_SEND, buffer,
                          (send.changes & (UCT_PREDREG_SEND_DATATYPE |
                                           UCT_PREDREG_SEND_HOT)) ? 0 : send.length, 0);
    send.param = strip(ucx, send.param, &changed->param);
    return send;
}

static UCS_F_ALWAYS_INLINE ucs_status_ptr_t
end_send(send_t send, const changed_t *changed, ucs_status_ptr_t result)
{
    end(send.comm, result);
    if (send.changes & UCT_PREDREG_SEND_HOT) {
        predreg_hooks(send.comm.ucx)->sent(predreg_thread.sender, &changed->send,
                                           send.length, result);
    }
    return result;
}

PREDREG_EXPORT ucs_status_ptr_t
ucp_tag_send_nbx(ucp_ep_h ep, const void *buffer, size_t count, ucp_tag_t tag,
                 const ucp_request_param_t *param)
{
    changed_t changed;
    send_t send = begin_send(UCT_PREDREG_MESSAGE_TAG, ep, buffer, count, param,
                             &changed);

    return end_send(send, &changed, PREDREG_REAL(send.comm.ucx, ucp_tag_send_nbx)(
                            ep, buffer, send.count, tag, send.param));
}

PREDREG_EXPORT ucs_status_ptr_t
ucp_am_send_nbx(ucp_ep_h ep, unsigned id, const void *header, size_t header_length,
                const void *buffer, size_t count, const ucp_request_param_t *param)
{
    changed_t changed;
    send_t send = begin_send(UCT_PREDREG_MESSAGE_AM, ep, buffer, count, param,
                             &changed);

    return end_send(send, &changed, PREDREG_REAL(send.comm.ucx, ucp_am_send_nbx)(
                            ep, id, header, header_length, buffer, send.count,
                            send.param));
}

PREDREG_EXPORT ucs_status_ptr_t
ucp_stream_send_nbx(ucp_ep_h ep, const void *buffer, size_t count,
                    const ucp_request_param_t *param)
{
    changed_t changed;
    send_t send = begin_send(UCT_PREDREG_MESSAGE_STREAM, ep, buffer, count, param,
                             &changed);

    return end_send(send, &changed, PREDREG_REAL(send.comm.ucx, ucp_stream_send_nbx)(
                            ep, buffer, send.count, send.param));
}


/* Overriding functions of communications that differ in names and arguments alone: each
 * begins a communication, calls the function that it overrides, and ends the
 * communication. @a _params has a buffer, its count and, as the macros say, its datatype,
 * request parameters, or a length and a key */

#define OVERRIDE(_type, _name, _params, _begin, _func, _args) \
    PREDREG_EXPORT _type _name _params \
    { \
        comm_t comm  = _begin; \
        _type result = _func _args; \
        \
        end(comm, NULL); \
        return result; \
    }

#define MESSAGE(_type, _kind, _name, _params, _args) \
    OVERRIDE(_type, _name, _params, \
             begin(UCS_RCACHE_PRED_COMM_##_kind, buffer, count, datatype), \
             PREDREG_REAL(comm.ucx, _name), _args)

/* The elements of these puts and gets are bytes */
#define ACCESS(_type, _kind, _name, _params, _args) \
    OVERRIDE(_type, _name, _params, \
             begin(UCS_RCACHE_PRED_COMM_##_kind, buffer, length, \
                   ucp_dt_make_contig(1)), \
             PREDREG_ROUTE(comm.ucx, rkey, _name), _args)

#define MESSAGE_NBX(_kind, _name, _params, _args) \
    PREDREG_EXPORT ucs_status_ptr_t _name _params \
    { \
        ucp_request_param_t copy; \
        comm_t comm = begin_param(UCS_RCACHE_PRED_COMM_##_kind, buffer, count, &param, \
                                  &copy); \
        \
        return end(comm, PREDREG_REAL(comm.ucx, _name) _args); \
    }

MESSAGE_NBX(SEND, ucp_tag_send_sync_nbx,
            (ucp_ep_h ep, const void *buffer, size_t count, ucp_tag_t tag,
             const ucp_request_param_t *param),
            (ep, buffer, count, tag, param))

MESSAGE(ucs_status_ptr_t, SEND, ucp_tag_send_nb,
        (ucp_ep_h ep, const void *buffer, size_t count, ucp_datatype_t datatype,
         ucp_tag_t tag, ucp_send_callback_t cb),
        (ep, buffer, count, datatype, tag, cb))

MESSAGE(ucs_status_t, SEND, ucp_tag_send_nbr,
        (ucp_ep_h ep, const void *buffer, size_t count, ucp_datatype_t datatype,
         ucp_tag_t tag, void *req),
        (ep, buffer, count, datatype, tag, req))

MESSAGE(ucs_status_ptr_t, SEND, ucp_tag_send_sync_nb,
        (ucp_ep_h ep, const void *buffer, size_t count, ucp_datatype_t datatype,
         ucp_tag_t tag, ucp_send_callback_t cb),
        (ep, buffer, count, datatype, tag, cb))

MESSAGE(ucs_status_ptr_t, SEND, ucp_am_send_nb,
        (ucp_ep_h ep, uint16_t id, const void *buffer, size_t count,
         ucp_datatype_t datatype, ucp_send_callback_t cb, unsigned flags),
        (ep, id, buffer, count, datatype, cb, flags))

MESSAGE(ucs_status_ptr_t, SEND, ucp_stream_send_nb,
        (ucp_ep_h ep, const void *buffer, size_t count, ucp_datatype_t datatype,
         ucp_send_callback_t cb, unsigned flags),
        (ep, buffer, count, datatype, cb, flags))

MESSAGE_NBX(RECV, ucp_tag_recv_nbx,
            (ucp_worker_h worker, void *buffer, size_t count, ucp_tag_t tag,
             ucp_tag_t tag_mask, const ucp_request_param_t *param),
            (worker, buffer, count, tag, tag_mask, param))

MESSAGE(ucs_status_ptr_t, RECV, ucp_tag_recv_nb,
        (ucp_worker_h worker, void *buffer, size_t count, ucp_datatype_t datatype,
         ucp_tag_t tag, ucp_tag_t tag_mask, ucp_tag_recv_callback_t cb),
        (worker, buffer, count, datatype, tag, tag_mask, cb))

MESSAGE(ucs_status_t, RECV, ucp_tag_recv_nbr,
        (ucp_worker_h worker, void *buffer, size_t count, ucp_datatype_t datatype,
         ucp_tag_t tag, ucp_tag_t tag_mask, void *req),
        (worker, buffer, count, datatype, tag, tag_mask, req))

MESSAGE_NBX(RECV, ucp_tag_msg_recv_nbx,
            (ucp_worker_h worker, void *buffer, size_t count, ucp_tag_message_h message,
             const ucp_request_param_t *param),
            (worker, buffer, count, message, param))

MESSAGE(ucs_status_ptr_t, RECV, ucp_tag_msg_recv_nb,
        (ucp_worker_h worker, void *buffer, size_t count, ucp_datatype_t datatype,
         ucp_tag_message_h message, ucp_tag_recv_callback_t cb),
        (worker, buffer, count, datatype, message, cb))

MESSAGE_NBX(RECV, ucp_am_recv_data_nbx,
            (ucp_worker_h worker, void *data_desc, void *buffer, size_t count,
             const ucp_request_param_t *param),
            (worker, data_desc, buffer, count, param))

MESSAGE_NBX(RECV, ucp_stream_recv_nbx,
            (ucp_ep_h ep, void *buffer, size_t count, size_t *length,
             const ucp_request_param_t *param),
            (ep, buffer, count, length, param))

MESSAGE(ucs_status_ptr_t, RECV, ucp_stream_recv_nb,
        (ucp_ep_h ep, void *buffer, size_t count, ucp_datatype_t datatype,
         ucp_stream_recv_callback_t cb, size_t *length, unsigned flags),
        (ep, buffer, count, datatype, cb, length, flags))

PREDREG_EXPORT ucs_status_ptr_t
ucp_put_nbx(ucp_ep_h ep, const void *buffer, size_t count, uint64_t remote_addr,
            ucp_rkey_h rkey, const ucp_request_param_t *param)
{
    ucp_request_param_t copy;
    comm_t comm = begin_param(UCS_RCACHE_PRED_COMM_PUT, buffer, count, &param, &copy);

    return end(comm, PREDREG_ROUTE(comm.ucx, rkey, ucp_put_nbx)(
                             ep, buffer, count, remote_addr, rkey, param));
}

ACCESS(ucs_status_t, PUT, ucp_put_nbi,
       (ucp_ep_h ep, const void *buffer, size_t length, uint64_t remote_addr,
        ucp_rkey_h rkey),
       (ep, buffer, length, remote_addr, rkey))

ACCESS(ucs_status_ptr_t, PUT, ucp_put_nb,
       (ucp_ep_h ep, const void *buffer, size_t length, uint64_t remote_addr,
        ucp_rkey_h rkey, ucp_send_callback_t cb),
       (ep, buffer, length, remote_addr, rkey, cb))

ACCESS(ucs_status_t, PUT, ucp_put,
       (ucp_ep_h ep, const void *buffer, size_t length, uint64_t remote_addr,
        ucp_rkey_h rkey),
       (ep, buffer, length, remote_addr, rkey))

PREDREG_EXPORT ucs_status_ptr_t
ucp_get_nbx(ucp_ep_h ep, void *buffer, size_t count, uint64_t remote_addr,
            ucp_rkey_h rkey, const ucp_request_param_t *param)
{
    ucp_request_param_t copy;
    comm_t comm = begin_param(UCS_RCACHE_PRED_COMM_GET, buffer, count, &param, &copy);

    return end(comm, PREDREG_ROUTE(comm.ucx, rkey, ucp_get_nbx)(
                             ep, buffer, count, remote_addr, rkey, param));
}

ACCESS(ucs_status_t, GET, ucp_get_nbi,
       (ucp_ep_h ep, void *buffer, size_t length, uint64_t remote_addr, ucp_rkey_h rkey),
       (ep, buffer, length, remote_addr, rkey))

ACCESS(ucs_status_ptr_t, GET, ucp_get_nb,
       (ucp_ep_h ep, void *buffer, size_t length, uint64_t remote_addr, ucp_rkey_h rkey,
        ucp_send_callback_t cb),
       (ep, buffer, length, remote_addr, rkey, cb))

ACCESS(ucs_status_t, GET, ucp_get,
       (ucp_ep_h ep, void *buffer, size_t length, uint64_t remote_addr, ucp_rkey_h rkey),
       (ep, buffer, length, remote_addr, rkey))
