/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_OP_H_
#define UCP_FH_OP_H_

#include "worker.h"

/** @file op.h
 *
 * The requests that the program is given: how an operation ends, and is
 * freed.
 *
 * A write that need not ask the table is one operation of UCP, whose request the
 * program gets as it is. Other requests are operations of the library. Their
 * lowest bit is set, which is never so in one of UCP: that points to memory for
 * the program, as malloc() does. */

/** What has happened to an operation, flags. */
enum {
    UCP_FH_OP_RETURNED = UCS_BIT(0), /**< The program knows of it */
    UCP_FH_OP_ENDED    = UCS_BIT(1), /**< It has a result */
    UCP_FH_OP_TOLD     = UCS_BIT(2), /**< Its callback has been called, if there
                                          is one and the program had not freed it
                                          before: the library is done with it */
    UCP_FH_OP_FREED    = UCS_BIT(3)  /**< The program has freed it */
};


typedef enum {
    UCP_FH_OP_PUT,
    UCP_FH_OP_GET,
    UCP_FH_OP_ATOMIC,
    UCP_FH_OP_FLUSH
} ucp_fh_op_kind_t;


/** An operation of the library. What has no other note does
 *  not change while others know of it. */
struct ucp_fh_op {
    ucs_list_link_t     link;       /**< In ucp_fh_worker::unposted or flushes.
                                         Protected by ucp_fh::lock */
    ucs_list_link_t     ready;      /**< In ucp_fh_worker::ready. Likewise */
    ucp_fh_worker_h     worker;     /**< May be gone once it has ended */
    ucp_fh_way_t        *way;       /**< None of a flush */
    ucp_fh_op_kind_t    kind;
    ucp_atomic_op_t     opcode;
    uint64_t            number;     /**< In the order of its worker */
    uint8_t             *buffer;
    uint64_t            remote;     /**< Address at the peer */
    size_t              length;     /**< Bytes */
    size_t              posted;     /**< Of them, bytes that were posted. Of the
                                         thread that posts it */
    ucp_fh_piece_t      *piece;     /**< Which it waits for. Likewise */
    ucp_fh_flush_t      flush;      /**< Of a flush */
    ucp_request_param_t param;      /**< For UCP */
    int                 has_callback;
    ucp_send_nbx_callback_t callback;
    void                *user_data;
    atomic_uint         pending;    /**< Parts under way, and one while it is
                                         not posted completely */
    atomic_int          error;      /**< The first error, or UCS_OK. Written by
                                         whoever finds it */
    atomic_int          result;     /**< UCS_INPROGRESS, or how it has ended;
                                         written once, by whoever ends the last
                                         part */
    /** What has happened. The thread that calls UCP for the program sets the
     *  first flag, whoever ends the last part the next two, the program the last
     *  one. Of two that meet, the one that finds the other's flag set goes on:
     *  ENDED and RETURNED are followed by the callback, TOLD and FREED by
     *  free() */
    atomic_uint         state;
};


/** @return UCS_ERR_UNSUPPORTED for parameters that the library does not know,
 *          UCS_ERR_INVALID_PARAM for a memory handle that is NULL, or UCS_OK. */
ucs_status_t ucp_fh_op_check_param(const ucp_request_param_t *param);

/** @return an operation that is not begun, with one pending part, or NULL if
 *          there is no memory. The caller sets what concerns its bytes. */
ucp_fh_op_t *ucp_fh_op_make(ucp_fh_worker_h worker, ucp_fh_op_kind_t kind,
                            const ucp_request_param_t *param);

/** Note an error. The first one counts. */
void ucp_fh_op_fail(ucp_fh_op_t *op, ucs_status_t status);

/** The same, unless it is UCS_OK. */
static inline void ucp_fh_op_note(ucp_fh_op_t *op, ucs_status_t status)
{
    if (status != UCS_OK) {
        ucp_fh_op_fail(op, status);
    }
}

/** A part has ended. With the last one, the operation does: if the program
 *  knows of it, it is told, and @a op may be gone. Without lock. */
void ucp_fh_op_end_part(ucp_fh_op_t *op);

/** What the program gets, when its own thread has done what it could. */
ucs_status_ptr_t ucp_fh_op_return(ucp_fh_op_t *op);

#endif
