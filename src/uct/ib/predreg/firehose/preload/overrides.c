/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "firehose.h"

#include <uct/ib/predreg/compat/ucx_api.h>
#include <uct/ib/predreg/preload/preload.h>

#include <stdlib.h>
#include <unistd.h>

/*
 * Overriding functions for memory that a program maps for its peers, besides puts and gets:
 * keys, atomics, endpoints, flushes. They serve windows that go through Firehose
 * (UCX_RCACHE_PRED_WINDOWS) alone. Without windows, each forwards the call. Other
 * functions of UCP that windows need are in ../../preload.
 */


PREDREG_EXPORT ucs_status_t
ucp_mem_unmap(ucp_context_h context, ucp_mem_h memh)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const predreg_windows_t *windows = predreg_windows(ucx);

    if (windows != NULL) {
        windows->mem_unmapping(context, memh);
    }
    return PREDREG_REAL(ucx, ucp_mem_unmap)(context, memh);
}

PREDREG_EXPORT ucs_status_t
ucp_rkey_pack(ucp_context_h context, ucp_mem_h memh, void **rkey_buffer_p,
              size_t *size_p)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const predreg_windows_t *windows = predreg_windows(ucx);
    ucs_status_t status;

    if ((windows != NULL) && windows->rkey_pack(context, memh, rkey_buffer_p,
                                                size_p, &status)) {
        return status;
    }

    return PREDREG_REAL(ucx, ucp_rkey_pack)(context, memh, rkey_buffer_p,
                                            size_p);
}

PREDREG_EXPORT void ucp_rkey_buffer_release(void *rkey_buffer)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const predreg_windows_t *windows = predreg_windows(ucx);

    if ((windows == NULL) || !windows->packed_release(rkey_buffer)) {
        PREDREG_REAL(ucx, ucp_rkey_buffer_release)(rkey_buffer);
    }
}

PREDREG_EXPORT ucs_status_t
ucp_rkey_compare(ucp_worker_h worker, ucp_rkey_h rkey1, ucp_rkey_h rkey2,
                 const ucp_rkey_compare_params_t *params, int *result)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const predreg_windows_t *windows = predreg_windows(ucx);
    ucs_status_t status;

    status = PREDREG_REAL(ucx, ucp_rkey_compare)(worker, rkey1, rkey2, params,
                                                 result);
    if ((windows != NULL) && (status == UCS_OK)) {
        windows->rkey_compare(rkey1, rkey2, result);
    }
    return status;
}

PREDREG_EXPORT void ucp_rkey_destroy(ucp_rkey_h rkey)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const predreg_windows_t *windows = predreg_windows(ucx);

    if (windows != NULL) {
        windows->rkey_destroying(rkey);
    }
    PREDREG_REAL(ucx, ucp_rkey_destroy)(rkey);
}

PREDREG_EXPORT ucs_status_t ucp_ep_create(ucp_worker_h worker,
                                          const ucp_ep_params_t *params,
                                          ucp_ep_h *ep_p)
{
    unsigned ucx = predreg_ucx(PREDREG_CALLER);
    const predreg_windows_t *windows;
    ucs_status_t status;

    status  = PREDREG_REAL(ucx, ucp_ep_create)(worker, params, ep_p);
    windows = predreg_windows(ucx);
    if ((windows != NULL) && (status == UCS_OK)) {
        windows->ep_made(worker, *ep_p);
    }
    return status;
}

static void *ep_closing(unsigned ucx, ucp_ep_h ep)
{
    const predreg_windows_t *windows = predreg_windows(ucx);

    return (windows != NULL) ? windows->ep_closing(ep) : NULL;
}

/* Tell libucp_windows.so whether an endpoint was closed. UCP refuses
 * (UCS_ERR_INVALID_PARAM) to close an endpoint with force if the endpoint does not handle
 * errors */
static ucs_status_ptr_t
ep_closed(unsigned ucx, void *closing, ucs_status_ptr_t request)
{
    if (closing != NULL) {
        predreg_windows(ucx)->ep_closed(closing, UCS_PTR_STATUS(request) ==
                                                 UCS_ERR_INVALID_PARAM);
    }
    return request;
}

PREDREG_EXPORT void ucp_ep_destroy(ucp_ep_h ep)
{
    unsigned ucx  = predreg_ucx(PREDREG_CALLER);
    void *closing = ep_closing(ucx, ep);

    PREDREG_REAL(ucx, ucp_ep_destroy)(ep);
    (void)ep_closed(ucx, closing, NULL);
}

PREDREG_EXPORT ucs_status_ptr_t ucp_disconnect_nb(ucp_ep_h ep)
{
    unsigned ucx  = predreg_ucx(PREDREG_CALLER);
    void *closing = ep_closing(ucx, ep);

    return ep_closed(ucx, closing, PREDREG_REAL(ucx, ucp_disconnect_nb)(ep));
}

PREDREG_EXPORT ucs_status_ptr_t ucp_ep_close_nb(ucp_ep_h ep, unsigned mode)
{
    unsigned ucx  = predreg_ucx(PREDREG_CALLER);
    void *closing = ep_closing(ucx, ep);

    return ep_closed(ucx, closing,
                     PREDREG_REAL(ucx, ucp_ep_close_nb)(ep, mode));
}

PREDREG_EXPORT ucs_status_ptr_t
ucp_ep_close_nbx(ucp_ep_h ep, const ucp_request_param_t *param)
{
    unsigned ucx  = predreg_ucx(PREDREG_CALLER);
    void *closing = ep_closing(ucx, ep);

    return ep_closed(ucx, closing,
                     PREDREG_REAL(ucx, ucp_ep_close_nbx)(ep, param));
}


/* @return the functions of libucp_windows.so, if a flush has to complete operations begun
 * by these functions; else NULL: the flush goes to UCP */
static UCS_F_ALWAYS_INLINE const predreg_windows_t *
flusher(unsigned ucx, ucp_worker_h worker, ucp_ep_h ep)
{
    const predreg_windows_t *windows = predreg_windows(ucx);

    return ((windows != NULL) && windows->needs_flush(worker, ep)) ? windows :
                                                                     NULL;
}

/* A flush of a worker or an endpoint */
#define FLUSH(_type, _name, _params, _args, _worker, _ep, _flush) \
    PREDREG_EXPORT _type _name _params \
    { \
        unsigned ucx                     = predreg_ucx(PREDREG_CALLER); \
        const predreg_windows_t *windows = flusher(ucx, _worker, _ep); \
        \
        return (windows != NULL) ? windows->_flush : PREDREG_REAL(ucx, _name) _args; \
    }

FLUSH(ucs_status_ptr_t, ucp_worker_flush_nbx,
      (ucp_worker_h worker, const ucp_request_param_t *param), (worker, param),
      worker, NULL, flush_nbx(worker, NULL, param))

FLUSH(ucs_status_ptr_t, ucp_worker_flush_nb,
      (ucp_worker_h worker, unsigned flags, ucp_send_callback_t cb), (worker, flags, cb),
      worker, NULL, flush_nb(worker, NULL, cb))

FLUSH(ucs_status_t, ucp_worker_flush, (ucp_worker_h worker), (worker),
      worker, NULL, flush(worker, NULL))

FLUSH(ucs_status_ptr_t, ucp_ep_flush_nbx,
      (ucp_ep_h ep, const ucp_request_param_t *param), (ep, param),
      NULL, ep, flush_nbx(NULL, ep, param))

FLUSH(ucs_status_ptr_t, ucp_ep_flush_nb,
      (ucp_ep_h ep, unsigned flags, ucp_send_callback_t cb), (ep, flags, cb),
      NULL, ep, flush_nb(NULL, ep, cb))

FLUSH(ucs_status_t, ucp_ep_flush, (ucp_ep_h ep), (ep), NULL, ep, flush(NULL, ep))


/* Atomic operations with the key of a window go to libucp_windows.so, all others to UCP */
#define ATOMIC(_type, _name, _params, _args) \
    PREDREG_EXPORT _type _name _params \
    { \
        return PREDREG_ROUTE(predreg_ucx(PREDREG_CALLER), rkey, _name) _args; \
    }

ATOMIC(ucs_status_ptr_t, ucp_atomic_op_nbx,
       (ucp_ep_h ep, ucp_atomic_op_t opcode, const void *buffer, size_t count,
        uint64_t remote_addr, ucp_rkey_h rkey, const ucp_request_param_t *param),
       (ep, opcode, buffer, count, remote_addr, rkey, param))

ATOMIC(ucs_status_t, ucp_atomic_post,
       (ucp_ep_h ep, ucp_atomic_post_op_t opcode, uint64_t value, size_t op_size,
        uint64_t remote_addr, ucp_rkey_h rkey),
       (ep, opcode, value, op_size, remote_addr, rkey))

ATOMIC(ucs_status_ptr_t, ucp_atomic_fetch_nb,
       (ucp_ep_h ep, ucp_atomic_fetch_op_t opcode, uint64_t value, void *result,
        size_t op_size, uint64_t remote_addr, ucp_rkey_h rkey, ucp_send_callback_t cb),
       (ep, opcode, value, result, op_size, remote_addr, rkey, cb))

/* The blocking forms, of 32 and 64 bits */
#define ATOMICS(_bits) \
    ATOMIC(ucs_status_t, ucp_atomic_add##_bits, \
           (ucp_ep_h ep, uint##_bits##_t add, uint64_t remote_addr, ucp_rkey_h rkey), \
           (ep, add, remote_addr, rkey)) \
    \
    ATOMIC(ucs_status_t, ucp_atomic_fadd##_bits, \
           (ucp_ep_h ep, uint##_bits##_t add, uint64_t remote_addr, ucp_rkey_h rkey, \
            uint##_bits##_t *result), \
           (ep, add, remote_addr, rkey, result)) \
    \
    ATOMIC(ucs_status_t, ucp_atomic_swap##_bits, \
           (ucp_ep_h ep, uint##_bits##_t swap, uint64_t remote_addr, ucp_rkey_h rkey, \
            uint##_bits##_t *result), \
           (ep, swap, remote_addr, rkey, result)) \
    \
    ATOMIC(ucs_status_t, ucp_atomic_cswap##_bits, \
           (ucp_ep_h ep, uint##_bits##_t compare, uint##_bits##_t swap, \
            uint64_t remote_addr, ucp_rkey_h rkey, uint##_bits##_t *result), \
           (ep, compare, swap, remote_addr, rkey, result))

ATOMICS(32)
ATOMICS(64)


/* For libucp_firehose.so, see firehose.h */

PREDREG_EXPORT ucs_status_t
predreg_firehose_map_1(ucp_context_h context,
                       const ucp_mem_map_params_t *params, ucp_mem_h *memh_p)
{
    unsigned ucx                  = predreg_ucx(PREDREG_CALLER);
    uct_predreg_purpose_t purpose = predreg_thread.purpose;
    ucs_status_t status;

    predreg_thread.purpose = UCT_PREDREG_PURPOSE_PINNED;
    status          = PREDREG_REAL(ucx, ucp_mem_map)(context, params, memh_p);
    predreg_thread.purpose = purpose;
    return status;
}

/* Count the managed domains of a context, by mapping a page of memory as a window.
 * @return their number; 0: not known */
static unsigned count_domains(unsigned ucx, ucp_context_h context)
{
    size_t page = sysconf(_SC_PAGESIZE);
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                      UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address    = aligned_alloc(page, page),
        .length     = page
    };
    unsigned num = 0;
    ucp_mem_h memh;

    if (params.address == NULL) {
        return 0;
    }

    if (predreg_map_window(ucx, context, &params, &memh, &num) == UCS_OK) {
        PREDREG_REAL(ucx, ucp_mem_unmap)(context, memh);
    }
    free(params.address);
    return num;
}

PREDREG_EXPORT uint64_t predreg_firehose_room_2(ucp_context_h context)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);

    return ((hooks == NULL) || (hooks->firehose_room == NULL)) ?
                   UINT64_MAX :
                   hooks->firehose_room(count_domains(ucx, context));
}

PREDREG_EXPORT void predreg_firehose_count_1(uint64_t requests, uint64_t hits)
{
    const uct_predreg_hooks_t *hooks =
            predreg_hooks(predreg_ucx(PREDREG_CALLER));

    if ((hooks != NULL) && (hooks->firehose_count != NULL)) {
        hooks->firehose_count(requests, hits);
    }
}
