/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_POST_H_
#define UCP_FH_POST_H_

#include "op.h"

/** @file post.h
 *
 * Operations, or parts of them, are handed to UCP. */

/** @return whether an operation returns nothing, so that its firehoses are in use
 *          until a flush. */
static inline int
ucp_fh_is_write(ucp_fh_op_kind_t kind, const ucp_request_param_t *param)
{
    return (kind == UCP_FH_OP_PUT) ||
           ((kind == UCP_FH_OP_ATOMIC) &&
            !(param->op_attr_mask & UCP_OP_ATTR_FIELD_REPLY_BUFFER));
}

/** A part of an operation which went through a piece has ended, and with the last
 *  one the use of the piece. Without lock. */
void ucp_fh_end_part_of_piece(ucp_fh_piece_t *piece);

/** Hand a put, get or atomic to UCP, whose functions say what the parameters are.
 *
 * @param [in] count  Elements. An atomic has one. */
ucs_status_ptr_t ucp_fh_post(ucp_ep_h ep, ucp_fh_op_kind_t kind,
                             ucp_atomic_op_t opcode, void *buffer, size_t count,
                             uint64_t remote, ucp_rkey_h rkey,
                             const ucp_request_param_t *param);

/**
 * Hand the next bytes of an operation to UCP.
 *
 * @param [in] piece  What it reads through, whose use ends then; NULL if that
 *                    does not end with this part.
 * @return as UCP's functions do. A request ends by ucp_fh_op_end_part().
 */
ucs_status_ptr_t ucp_fh_post_next(ucp_fh_op_t *op, ucp_fh_piece_t *piece,
                                  size_t length, ucp_rkey_h rkey);

#endif
