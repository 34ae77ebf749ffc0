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
int ucp_fh_is_write(const ucp_fh_op_t *op);

/** A part of an operation which went through a piece has ended, and with the last
 *  one the use of the piece. Without lock. */
void ucp_fh_end_part_of_piece(ucp_fh_piece_t *piece);

/**
 * Hand the next bytes of an operation to UCP.
 *
 * @param [in] piece  What it reads through, whose use ends then; NULL if that
 *                    does not end with this part.
 * @return as UCP's functions do. A request ends by ucp_fh_op_end_part().
 */
ucs_status_ptr_t ucp_fh_post(ucp_fh_op_t *op, ucp_fh_piece_t *piece,
                             size_t length, ucp_rkey_h rkey);

#endif
