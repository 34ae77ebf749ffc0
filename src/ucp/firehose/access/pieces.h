/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_PIECES_H_
#define UCP_FH_PIECES_H_

#include "op.h"

/** @file pieces.h
 *
 * How an operation gets its firehoses, is cut into pieces that fit, and these
 * into parts of one bucket each. By a thread that may use its worker, without
 * lock. */

/** Begin pieces until all is posted, something fails, or one has to be waited
 *  for. The operation is in ucp_fh_worker::unposted until all is posted. */
void ucp_fh_pieces_begin(ucp_fh_op_t *op);

/** Go on with an operation: the piece that it has waited for is there, or will
 *  not be. */
void ucp_fh_pieces_resume(ucp_fh_op_t *op);

#endif
