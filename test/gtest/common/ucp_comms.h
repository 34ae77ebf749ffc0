/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_UCP_COMMS_H_
#define PREDREG_GTEST_UCP_COMMS_H_

#include <uct/ib/predreg/preload/length.h>
#include <uct/ib/predreg/preload/preload.h>

#include <ucp/api/ucp_compat.h>

/** @file ucp_comms.h
 *
 * The list of all communications of UCP, which preload_comm.c overrides: for a fake UCX of
 * unit tests, and for test/bench/site_probe.c. A file that includes this has to define
 *
 *   PREDREG_COMM(name, return type, kind, parameters, arguments, buffer, count,
 *                options)
 *
 * which is expanded for each of them. The buffer and count are names of its
 * parameters. The options say how the call gets its datatype:
 *
 *   PARAM     in its request parameters, the parameter param
 *   TAG       as PARAM; a send by tag, which may go without a copy
 *   AM        as TAG, an active message
 *   STREAM    as TAG, a part of a stream
 *   DATATYPE  as the parameter datatype
 *   BYTES     not at all: its elements are bytes
 *
 * The calls with these three have a parameter count.
 */

/** The datatype of a communication with these options. */
#define PREDREG_DATATYPE_PARAM    predreg_request_datatype(param)
#define PREDREG_DATATYPE_TAG      predreg_request_datatype(param)
#define PREDREG_DATATYPE_AM       predreg_request_datatype(param)
#define PREDREG_DATATYPE_STREAM   predreg_request_datatype(param)
#define PREDREG_DATATYPE_DATATYPE datatype
#define PREDREG_DATATYPE_BYTES    ucp_dt_make_contig(1)


PREDREG_COMM(ucp_tag_send_nbx, ucs_status_ptr_t, SEND,
             (ucp_ep_h ep, const void *buffer, size_t count, ucp_tag_t tag,
              const ucp_request_param_t *param),
             (ep, buffer, count, tag, param),
             buffer, count, TAG)

PREDREG_COMM(ucp_tag_send_sync_nbx, ucs_status_ptr_t, SEND,
             (ucp_ep_h ep, const void *buffer, size_t count, ucp_tag_t tag,
              const ucp_request_param_t *param),
             (ep, buffer, count, tag, param),
             buffer, count, PARAM)

PREDREG_COMM(ucp_tag_send_nb, ucs_status_ptr_t, SEND,
             (ucp_ep_h ep, const void *buffer, size_t count,
              ucp_datatype_t datatype, ucp_tag_t tag, ucp_send_callback_t cb),
             (ep, buffer, count, datatype, tag, cb),
             buffer, count, DATATYPE)

PREDREG_COMM(ucp_tag_send_nbr, ucs_status_t, SEND,
             (ucp_ep_h ep, const void *buffer, size_t count,
              ucp_datatype_t datatype, ucp_tag_t tag, void *req),
             (ep, buffer, count, datatype, tag, req),
             buffer, count, DATATYPE)

PREDREG_COMM(ucp_tag_send_sync_nb, ucs_status_ptr_t, SEND,
             (ucp_ep_h ep, const void *buffer, size_t count,
              ucp_datatype_t datatype, ucp_tag_t tag, ucp_send_callback_t cb),
             (ep, buffer, count, datatype, tag, cb),
             buffer, count, DATATYPE)

PREDREG_COMM(ucp_tag_recv_nbx, ucs_status_ptr_t, RECV,
             (ucp_worker_h worker, void *buffer, size_t count, ucp_tag_t tag,
              ucp_tag_t tag_mask, const ucp_request_param_t *param),
             (worker, buffer, count, tag, tag_mask, param),
             buffer, count, PARAM)

PREDREG_COMM(ucp_tag_recv_nb, ucs_status_ptr_t, RECV,
             (ucp_worker_h worker, void *buffer, size_t count,
              ucp_datatype_t datatype, ucp_tag_t tag, ucp_tag_t tag_mask,
              ucp_tag_recv_callback_t cb),
             (worker, buffer, count, datatype, tag, tag_mask, cb),
             buffer, count, DATATYPE)

PREDREG_COMM(ucp_tag_recv_nbr, ucs_status_t, RECV,
             (ucp_worker_h worker, void *buffer, size_t count,
              ucp_datatype_t datatype, ucp_tag_t tag, ucp_tag_t tag_mask,
              void *req),
             (worker, buffer, count, datatype, tag, tag_mask, req),
             buffer, count, DATATYPE)

PREDREG_COMM(ucp_tag_msg_recv_nbx, ucs_status_ptr_t, RECV,
             (ucp_worker_h worker, void *buffer, size_t count,
              ucp_tag_message_h message, const ucp_request_param_t *param),
             (worker, buffer, count, message, param),
             buffer, count, PARAM)

PREDREG_COMM(ucp_tag_msg_recv_nb, ucs_status_ptr_t, RECV,
             (ucp_worker_h worker, void *buffer, size_t count,
              ucp_datatype_t datatype, ucp_tag_message_h message,
              ucp_tag_recv_callback_t cb),
             (worker, buffer, count, datatype, message, cb),
             buffer, count, DATATYPE)

PREDREG_COMM(ucp_am_send_nbx, ucs_status_ptr_t, SEND,
             (ucp_ep_h ep, unsigned id, const void *header,
              size_t header_length, const void *buffer, size_t count,
              const ucp_request_param_t *param),
             (ep, id, header, header_length, buffer, count, param),
             buffer, count, AM)

PREDREG_COMM(ucp_am_send_nb, ucs_status_ptr_t, SEND,
             (ucp_ep_h ep, uint16_t id, const void *buffer, size_t count,
              ucp_datatype_t datatype, ucp_send_callback_t cb, unsigned flags),
             (ep, id, buffer, count, datatype, cb, flags),
             buffer, count, DATATYPE)

PREDREG_COMM(ucp_am_recv_data_nbx, ucs_status_ptr_t, RECV,
             (ucp_worker_h worker, void *data_desc, void *buffer, size_t count,
              const ucp_request_param_t *param),
             (worker, data_desc, buffer, count, param),
             buffer, count, PARAM)

PREDREG_COMM(ucp_stream_send_nbx, ucs_status_ptr_t, SEND,
             (ucp_ep_h ep, const void *buffer, size_t count,
              const ucp_request_param_t *param),
             (ep, buffer, count, param),
             buffer, count, STREAM)

PREDREG_COMM(ucp_stream_send_nb, ucs_status_ptr_t, SEND,
             (ucp_ep_h ep, const void *buffer, size_t count,
              ucp_datatype_t datatype, ucp_send_callback_t cb, unsigned flags),
             (ep, buffer, count, datatype, cb, flags),
             buffer, count, DATATYPE)

PREDREG_COMM(ucp_stream_recv_nbx, ucs_status_ptr_t, RECV,
             (ucp_ep_h ep, void *buffer, size_t count, size_t *length,
              const ucp_request_param_t *param),
             (ep, buffer, count, length, param),
             buffer, count, PARAM)

PREDREG_COMM(ucp_stream_recv_nb, ucs_status_ptr_t, RECV,
             (ucp_ep_h ep, void *buffer, size_t count, ucp_datatype_t datatype,
              ucp_stream_recv_callback_t cb, size_t *length, unsigned flags),
             (ep, buffer, count, datatype, cb, length, flags),
             buffer, count, DATATYPE)

PREDREG_COMM(ucp_put_nbx, ucs_status_ptr_t, PUT,
             (ucp_ep_h ep, const void *buffer, size_t count,
              uint64_t remote_addr, ucp_rkey_h rkey,
              const ucp_request_param_t *param),
             (ep, buffer, count, remote_addr, rkey, param),
             buffer, count, PARAM)

PREDREG_COMM(ucp_put_nbi, ucs_status_t, PUT,
             (ucp_ep_h ep, const void *buffer, size_t length,
              uint64_t remote_addr, ucp_rkey_h rkey),
             (ep, buffer, length, remote_addr, rkey),
             buffer, length, BYTES)

PREDREG_COMM(ucp_put_nb, ucs_status_ptr_t, PUT,
             (ucp_ep_h ep, const void *buffer, size_t length,
              uint64_t remote_addr, ucp_rkey_h rkey, ucp_send_callback_t cb),
             (ep, buffer, length, remote_addr, rkey, cb),
             buffer, length, BYTES)

PREDREG_COMM(ucp_put, ucs_status_t, PUT,
             (ucp_ep_h ep, const void *buffer, size_t length,
              uint64_t remote_addr, ucp_rkey_h rkey),
             (ep, buffer, length, remote_addr, rkey),
             buffer, length, BYTES)

PREDREG_COMM(ucp_get_nbx, ucs_status_ptr_t, GET,
             (ucp_ep_h ep, void *buffer, size_t count, uint64_t remote_addr,
              ucp_rkey_h rkey, const ucp_request_param_t *param),
             (ep, buffer, count, remote_addr, rkey, param),
             buffer, count, PARAM)

PREDREG_COMM(ucp_get_nbi, ucs_status_t, GET,
             (ucp_ep_h ep, void *buffer, size_t length, uint64_t remote_addr,
              ucp_rkey_h rkey),
             (ep, buffer, length, remote_addr, rkey),
             buffer, length, BYTES)

PREDREG_COMM(ucp_get_nb, ucs_status_ptr_t, GET,
             (ucp_ep_h ep, void *buffer, size_t length, uint64_t remote_addr,
              ucp_rkey_h rkey, ucp_send_callback_t cb),
             (ep, buffer, length, remote_addr, rkey, cb),
             buffer, length, BYTES)

PREDREG_COMM(ucp_get, ucs_status_t, GET,
             (ucp_ep_h ep, void *buffer, size_t length, uint64_t remote_addr,
              ucp_rkey_h rkey),
             (ep, buffer, length, remote_addr, rkey),
             buffer, length, BYTES)

#endif
