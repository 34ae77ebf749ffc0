/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_WIN_CALLS_H_
#define UCP_WIN_CALLS_H_

#include "state.h"

/** @file calls.h
 *
 * The calls of the program that this library carries out. A function ucp_win_x() stands for
 * UCP's function ucp_x(), or for member x of predreg_windows_t. */

/** A window of a peer. The program knows it by the key that UCP has unpacked. Does not
 *  change. */
typedef struct ucp_win_remote {
    ucp_win_way_t   *way;
    uint32_t        peer;
    ucp_win_range_t range;
    ucp_rkey_h      head;     /**< Key to the bytes before the exposed ones, or NULL */
    ucp_rkey_h      tail;     /**< Key to the bytes after the exposed ones, or NULL */
    ucp_fh_rest_t   rest;     /**< UCP's own key to the window, packed */
    uint8_t         packed[]; /**< The bytes of @a rest */
} ucp_win_remote_t;


/** Pieces to release when a request of UCP is complete. The program gets this request,
 *  but UCP calls the library's callback, which releases the pieces and calls the
 *  program's callback. */
typedef struct ucp_win_ticket {
    ucs_list_link_t         pieces;
    ucp_request_param_t     param;     /**< The parameters for UCP */
    /* Protected by the lock of ticket.c */
    ucp_send_nbx_callback_t callback;  /**< The program's; NULL: there is none, or the
                                            program has freed the request */
    void                    *user_data; /**< The argument for the program's callback */
    int                     is_issued; /**< Whether UCP has returned the request */
    int                     is_done;   /**< Whether the request is complete */
} ucp_win_ticket_t;


/* expose.c: windows of this process */

int ucp_win_mem_map(ucp_context_h context, const ucp_mem_map_params_t *params,
                    ucp_mem_h *memh_p, ucs_status_t *status_p);
void ucp_win_mem_unmapping(ucp_context_h context, ucp_mem_h memh);
int ucp_win_is_window(ucp_mem_h memh);
int ucp_win_rkey_pack(ucp_context_h context, ucp_mem_h memh, void **packed_p,
                      size_t *length_p, ucs_status_t *status_p);
int ucp_win_packed_release(void *packed);


/* remote.c: windows of peers */

/** @return the window that a key is for, or NULL. Takes no lock. */
static inline ucp_win_remote_t *ucp_win_remote_find(ucp_rkey_h rkey)
{
    return (ucp_win_remote_t*)ucs_map_find(&ucp_win.remotes, rkey);
}

/** Set the peer of a way. The library begins a flush of the way when half of the peer's
 *  firehoses wait for one. The other half is for operations in callbacks of UCP: a
 *  callback cannot wait for the end of a flush, since the progress that has called the
 *  callback would have to go on. */
void ucp_win_way_connect(ucp_fh_t *fh, ucp_win_way_t *way, uint32_t peer);

int ucp_win_serves(ucp_rkey_h rkey);
int ucp_win_rkey_unpack(ucp_ep_h ep, const void *packed, ucp_rkey_h *rkey_p,
                        ucs_status_t *status_p);
void ucp_win_rkey_destroying(ucp_rkey_h rkey);
void ucp_win_rkey_compare(ucp_rkey_h rkey1, ucp_rkey_h rkey2, int *result_p);


/* access.c: puts, gets and atomics go through the program's own endpoint, with keys to
 * buckets in place of the key to the window: so UCP sees to order, completion, requests
 * and threads. An operation on several buckets is posted in chunks, and the program gets
 * the request of a flush after these. */

ucs_status_ptr_t ucp_win_put_nbx(ucp_ep_h ep, const void *buffer, size_t count,
                                 uint64_t remote_addr, ucp_rkey_h rkey,
                                 const ucp_request_param_t *param);

ucs_status_ptr_t ucp_win_get_nbx(ucp_ep_h ep, void *buffer, size_t count,
                                 uint64_t remote_addr, ucp_rkey_h rkey,
                                 const ucp_request_param_t *param);

ucs_status_t ucp_win_put_nbi(ucp_ep_h ep, const void *buffer, size_t length,
                             uint64_t remote_addr, ucp_rkey_h rkey);

ucs_status_t ucp_win_get_nbi(ucp_ep_h ep, void *buffer, size_t length,
                             uint64_t remote_addr, ucp_rkey_h rkey);

ucs_status_ptr_t
ucp_win_atomic_op_nbx(ucp_ep_h ep, ucp_atomic_op_t opcode, const void *buffer,
                      size_t count, uint64_t remote_addr, ucp_rkey_h rkey,
                      const ucp_request_param_t *param);

/** Free the request of an operation, if there is one, which may still go on.
 *
 *  @return UCS_INPROGRESS if there was a request; else the status of the operation. */
ucs_status_t ucp_win_drop(ucs_status_ptr_t request);


/* ticket.c: the ends of requests, and flushes of the program */

/**
 * Make a ticket without pieces, before UCP is called.
 *
 * @param [in] param  The parameters of the program.
 * @return the ticket, or NULL: there is no memory, or a parameter is not known here. The
 *         caller then hands the program's parameters to UCP.
 */
ucp_win_ticket_t *ucp_win_ticket_make(const ucp_request_param_t *param);

/** Copy the parameters that concern the operation itself, without those for its request.
 *
 *  @param [out] plain  The copy.
 *
 *  @return whether all parameters are known here. */
int ucp_win_ticket_strip(const ucp_request_param_t *param,
                         ucp_request_param_t *plain);

/** UCP's function for the operation of a ticket has returned @a request. If that is no
 *  request, the pieces are released, and the ticket is freed.
 *
 *  @return @a request. */
ucs_status_ptr_t
ucp_win_ticket_issued(ucp_win_ticket_t *ticket, ucs_status_ptr_t request);

/** The program frees a request. If the request goes on and has a ticket, the program's
 *  callback will not be called.
 *
 *  @return whether the request goes on and has a ticket: the caller then calls
 *          ucp_request_release(), after which UCP still calls the library's callback. */
int ucp_win_ticket_freeing(void *request);

/** Flush an endpoint or, if @a ep is NULL, a worker, for the program. */
ucs_status_ptr_t ucp_win_flush_nbx(ucp_worker_h worker, ucp_ep_h ep,
                                   const ucp_request_param_t *param);

/** @return whether a flush covers pieces: the caller then calls ucp_win_flush_nbx() in
 *          place of UCP's function. Takes no lock if no way has pieces. */
int ucp_win_needs_flush(ucp_worker_h worker, ucp_ep_h ep);

/** Flush a way, and wait for the end as ucp_win_way_wait() does.
 *
 *  @param [in] request  The request of an earlier operation on the way, which this call frees;
 *                       or NULL.
 *  @return the status of the flush, if that is an error or there is no request; else the
 *          status of the request. UCS_INPROGRESS: the operation or the flush goes on. */
ucs_status_t ucp_win_way_complete(ucp_win_way_t *way, ucs_status_ptr_t request);

#endif
