/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "preload.h"

#include <ucp/api/ucp_compat.h>

/*
 * Entry points of UCP: its configuration; its progress, since a program that
 * waits has time to spare; and its communications, whose call sites are
 * recorded. UCP implements some communications by others, which come
 * through here again: only the outer call, the program's, is recorded.
 */


/* Initial-exec: the library is preloaded, so its thread-local storage is there
 * from the start of each thread and takes one instruction to find */
static __thread __attribute__((tls_model("initial-exec")))
ucs_rcache_pred_window_t predreg_window;

/* Communications this thread is inside of */
static __thread __attribute__((tls_model("initial-exec")))
unsigned predreg_depth;


PREDREG_EXPORT ucs_status_t
ucp_config_read(const char *env_prefix, const char *filename,
                ucp_config_t **config_p)
{
    /* Before UCX looks for variables that nobody has read */
    const uct_predreg_hooks_t *hooks = predreg_load();
    ucs_status_t status;

    status = PREDREG_REAL(ucp_config_read)(env_prefix, filename, config_p);
    if ((status == UCS_OK) && (hooks != NULL)) {
        hooks->ucp_config(predreg_real_ucp(), *config_p);
    }

    return status;
}

PREDREG_EXPORT ucs_status_t
ucp_init_version(unsigned api_major_version, unsigned api_minor_version,
                 const ucp_params_t *params, const ucp_config_t *config,
                 ucp_context_h *context_p)
{
    ucp_config_t *own_config = NULL;
    ucs_status_t status;

    if (config == NULL) {
        /* UCP would read it where no hook sees it */
        status = ucp_config_read(NULL, NULL, &own_config);
        if (status != UCS_OK) {
            return status;
        }
        config = own_config;
    }

    status = PREDREG_REAL(ucp_init_version)(api_major_version,
                                            api_minor_version, params, config,
                                            context_p);
    if (own_config != NULL) {
        PREDREG_REAL(ucp_config_release)(own_config);
    }

    return status;
}


PREDREG_EXPORT unsigned ucp_worker_progress(ucp_worker_h worker)
{
    unsigned count = PREDREG_REAL(ucp_worker_progress)(worker);
    const uct_predreg_hooks_t *hooks;

    if (count == 0) {
        hooks = predreg_hooks();
        if (hooks != NULL) {
            hooks->idle();
        }
    }

    return count;
}


static UCS_F_ALWAYS_INLINE ucp_datatype_t
request_datatype(const ucp_request_param_t *param)
{
    return (param->op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE) ?
           param->datatype : ucp_dt_make_contig(1);
}

/* Tell the core about a communication of count elements of a datatype */
static UCS_F_ALWAYS_INLINE void
record(ucs_rcache_pred_comm_t comm, const void *buffer, size_t count,
       ucp_datatype_t datatype, const void *caller, const void *stack)
{
    const uct_predreg_hooks_t *hooks;

    if (predreg_depth > 0) {
        return;
    }

    if (((datatype & UCP_DATATYPE_CLASS_MASK) == UCP_DATATYPE_CONTIG) &&
        (count * (datatype >> UCP_DATATYPE_SHIFT) < UCT_PREDREG_MIN_LENGTH)) {
        return;
    }

    hooks = predreg_hooks();
    if (hooks != NULL) {
        hooks->comm(&predreg_window, comm, buffer, caller, stack);
    }
}

#define CONTIG ucp_dt_make_contig(1)

/*
 * An overriding function: name, return type, kind, parameters, arguments, and
 * its buffer, count and datatype. The frame address is a constant below the
 * caller's, and so stands for the stack depth.
 */
#define PREDREG_COMM(_name, _ret, _comm, _params, _args, _buffer, _count, \
                     _datatype) \
    PREDREG_EXPORT _ret _name _params \
    { \
        _ret ret; \
        \
        record(UCS_RCACHE_PRED_COMM_##_comm, _buffer, _count, _datatype, \
               __builtin_return_address(0), __builtin_frame_address(0)); \
        ++predreg_depth; \
        ret = PREDREG_REAL(_name) _args; \
        --predreg_depth; \
        return ret; \
    }

PREDREG_COMM(ucp_tag_send_nbx, ucs_status_ptr_t, SEND,
             (ucp_ep_h ep, const void *buffer, size_t count, ucp_tag_t tag,
              const ucp_request_param_t *param),
             (ep, buffer, count, tag, param),
             buffer, count, request_datatype(param))

PREDREG_COMM(ucp_tag_send_sync_nbx, ucs_status_ptr_t, SEND,
             (ucp_ep_h ep, const void *buffer, size_t count, ucp_tag_t tag,
              const ucp_request_param_t *param),
             (ep, buffer, count, tag, param),
             buffer, count, request_datatype(param))

PREDREG_COMM(ucp_tag_send_nb, ucs_status_ptr_t, SEND,
             (ucp_ep_h ep, const void *buffer, size_t count,
              ucp_datatype_t datatype, ucp_tag_t tag, ucp_send_callback_t cb),
             (ep, buffer, count, datatype, tag, cb),
             buffer, count, datatype)

PREDREG_COMM(ucp_tag_send_nbr, ucs_status_t, SEND,
             (ucp_ep_h ep, const void *buffer, size_t count,
              ucp_datatype_t datatype, ucp_tag_t tag, void *req),
             (ep, buffer, count, datatype, tag, req),
             buffer, count, datatype)

PREDREG_COMM(ucp_tag_send_sync_nb, ucs_status_ptr_t, SEND,
             (ucp_ep_h ep, const void *buffer, size_t count,
              ucp_datatype_t datatype, ucp_tag_t tag, ucp_send_callback_t cb),
             (ep, buffer, count, datatype, tag, cb),
             buffer, count, datatype)

PREDREG_COMM(ucp_tag_recv_nbx, ucs_status_ptr_t, RECV,
             (ucp_worker_h worker, void *buffer, size_t count, ucp_tag_t tag,
              ucp_tag_t tag_mask, const ucp_request_param_t *param),
             (worker, buffer, count, tag, tag_mask, param),
             buffer, count, request_datatype(param))

PREDREG_COMM(ucp_tag_recv_nb, ucs_status_ptr_t, RECV,
             (ucp_worker_h worker, void *buffer, size_t count,
              ucp_datatype_t datatype, ucp_tag_t tag, ucp_tag_t tag_mask,
              ucp_tag_recv_callback_t cb),
             (worker, buffer, count, datatype, tag, tag_mask, cb),
             buffer, count, datatype)

PREDREG_COMM(ucp_tag_recv_nbr, ucs_status_t, RECV,
             (ucp_worker_h worker, void *buffer, size_t count,
              ucp_datatype_t datatype, ucp_tag_t tag, ucp_tag_t tag_mask,
              void *req),
             (worker, buffer, count, datatype, tag, tag_mask, req),
             buffer, count, datatype)

PREDREG_COMM(ucp_tag_msg_recv_nbx, ucs_status_ptr_t, RECV,
             (ucp_worker_h worker, void *buffer, size_t count,
              ucp_tag_message_h message, const ucp_request_param_t *param),
             (worker, buffer, count, message, param),
             buffer, count, request_datatype(param))

PREDREG_COMM(ucp_tag_msg_recv_nb, ucs_status_ptr_t, RECV,
             (ucp_worker_h worker, void *buffer, size_t count,
              ucp_datatype_t datatype, ucp_tag_message_h message,
              ucp_tag_recv_callback_t cb),
             (worker, buffer, count, datatype, message, cb),
             buffer, count, datatype)

PREDREG_COMM(ucp_am_send_nbx, ucs_status_ptr_t, SEND,
             (ucp_ep_h ep, unsigned id, const void *header,
              size_t header_length, const void *buffer, size_t count,
              const ucp_request_param_t *param),
             (ep, id, header, header_length, buffer, count, param),
             buffer, count, request_datatype(param))

PREDREG_COMM(ucp_am_send_nb, ucs_status_ptr_t, SEND,
             (ucp_ep_h ep, uint16_t id, const void *buffer, size_t count,
              ucp_datatype_t datatype, ucp_send_callback_t cb, unsigned flags),
             (ep, id, buffer, count, datatype, cb, flags),
             buffer, count, datatype)

PREDREG_COMM(ucp_am_recv_data_nbx, ucs_status_ptr_t, RECV,
             (ucp_worker_h worker, void *data_desc, void *buffer, size_t count,
              const ucp_request_param_t *param),
             (worker, data_desc, buffer, count, param),
             buffer, count, request_datatype(param))

PREDREG_COMM(ucp_stream_send_nbx, ucs_status_ptr_t, SEND,
             (ucp_ep_h ep, const void *buffer, size_t count,
              const ucp_request_param_t *param),
             (ep, buffer, count, param),
             buffer, count, request_datatype(param))

PREDREG_COMM(ucp_stream_send_nb, ucs_status_ptr_t, SEND,
             (ucp_ep_h ep, const void *buffer, size_t count,
              ucp_datatype_t datatype, ucp_send_callback_t cb, unsigned flags),
             (ep, buffer, count, datatype, cb, flags),
             buffer, count, datatype)

PREDREG_COMM(ucp_stream_recv_nbx, ucs_status_ptr_t, RECV,
             (ucp_ep_h ep, void *buffer, size_t count, size_t *length,
              const ucp_request_param_t *param),
             (ep, buffer, count, length, param),
             buffer, count, request_datatype(param))

PREDREG_COMM(ucp_stream_recv_nb, ucs_status_ptr_t, RECV,
             (ucp_ep_h ep, void *buffer, size_t count, ucp_datatype_t datatype,
              ucp_stream_recv_callback_t cb, size_t *length, unsigned flags),
             (ep, buffer, count, datatype, cb, length, flags),
             buffer, count, datatype)

PREDREG_COMM(ucp_put_nbx, ucs_status_ptr_t, PUT,
             (ucp_ep_h ep, const void *buffer, size_t count,
              uint64_t remote_addr, ucp_rkey_h rkey,
              const ucp_request_param_t *param),
             (ep, buffer, count, remote_addr, rkey, param),
             buffer, count, request_datatype(param))

PREDREG_COMM(ucp_put_nbi, ucs_status_t, PUT,
             (ucp_ep_h ep, const void *buffer, size_t length,
              uint64_t remote_addr, ucp_rkey_h rkey),
             (ep, buffer, length, remote_addr, rkey), buffer, length, CONTIG)

PREDREG_COMM(ucp_put_nb, ucs_status_ptr_t, PUT,
             (ucp_ep_h ep, const void *buffer, size_t length,
              uint64_t remote_addr, ucp_rkey_h rkey, ucp_send_callback_t cb),
             (ep, buffer, length, remote_addr, rkey, cb),
             buffer, length, CONTIG)

PREDREG_COMM(ucp_put, ucs_status_t, PUT,
             (ucp_ep_h ep, const void *buffer, size_t length,
              uint64_t remote_addr, ucp_rkey_h rkey),
             (ep, buffer, length, remote_addr, rkey), buffer, length, CONTIG)

PREDREG_COMM(ucp_get_nbx, ucs_status_ptr_t, GET,
             (ucp_ep_h ep, void *buffer, size_t count, uint64_t remote_addr,
              ucp_rkey_h rkey, const ucp_request_param_t *param),
             (ep, buffer, count, remote_addr, rkey, param),
             buffer, count, request_datatype(param))

PREDREG_COMM(ucp_get_nbi, ucs_status_t, GET,
             (ucp_ep_h ep, void *buffer, size_t length, uint64_t remote_addr,
              ucp_rkey_h rkey),
             (ep, buffer, length, remote_addr, rkey), buffer, length, CONTIG)

PREDREG_COMM(ucp_get_nb, ucs_status_ptr_t, GET,
             (ucp_ep_h ep, void *buffer, size_t length, uint64_t remote_addr,
              ucp_rkey_h rkey, ucp_send_callback_t cb),
             (ep, buffer, length, remote_addr, rkey, cb),
             buffer, length, CONTIG)

PREDREG_COMM(ucp_get, ucs_status_t, GET,
             (ucp_ep_h ep, void *buffer, size_t length, uint64_t remote_addr,
              ucp_rkey_h rkey),
             (ep, buffer, length, remote_addr, rkey), buffer, length, CONTIG)
