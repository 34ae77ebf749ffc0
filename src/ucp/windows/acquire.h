/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_WIN_ACQUIRE_H_
#define UCP_WIN_ACQUIRE_H_

#include "pieces.h"

/** @file acquire.h
 *
 * How operations get their firehoses, and the keys to go with. */

/** What of a piece has one key. */
typedef struct ucp_win_part {
    ucp_rkey_h rkey;
    size_t     length; /**< Bytes */
} ucp_win_part_t;


/**
 * Get firehoses on memory of a peer, on as much of it as one piece may have: held
 * ones, if there are any. Waits for them; meanwhile the worker is progressed, unless
 * this thread is in one of its callbacks.
 *
 * @param [in] is_read  As ucp_win_piece_take().
 * @return UCS_ERR_INVALID_ADDR if it is not exposed any more;
 *         UCS_ERR_NO_RESOURCE if a callback waits in vain;
 *         UCS_ERR_CANCELED if a callback has closed the endpoint meanwhile;
 *         UCS_ERR_EXCEEDS_LIMIT if the peer has no room for a minute;
 *         UCS_ERR_NO_MEMORY; or why the peer is gone.
 */
ucs_status_t ucp_win_acquire(ucp_win_way_t *way, uint32_t peer,
                             uint64_t address, size_t length, int is_read,
                             ucp_win_piece_t **piece_p);

/**
 * Find the key of a part of a piece.
 *
 * @param [in]  rest     UCP's own key to the window, which the key of the part
 *                       is merged with.
 * @param [in]  address  Where the part begins; @a length to the end of what is
 * wanted.
 * @return UCS_ERR_INVALID_ADDR if not all of it is exposed; UCS_ERR_NO_MEMORY;
 *         or an error of UCP.
 */
ucs_status_t
ucp_win_find_part(ucp_win_piece_t *piece, const void *rest, size_t rest_length,
                  uint64_t address, size_t length, ucp_win_part_t *part);

#endif
