/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_WIN_REMOTE_H_
#define UCP_WIN_REMOTE_H_

#include "way.h"

/** @file remote.h
 *
 * Windows of peers: what was unpacked of their keys. */

/** A window of a peer, by the key that UCP has made for the program. Does not
 *  change. */
typedef struct ucp_win_remote {
    ucp_win_way_t *way;
    uint32_t      peer;
    uint64_t      start;     /**< As in ucp_win_key_t */
    uint64_t      first;
    uint64_t      last;
    uint64_t      end;
    ucp_rkey_h    head;      /**< Key to what is before @a first, or NULL */
    ucp_rkey_h    tail;      /**< The same from @a last on */
    uint32_t      rest_length;
    uint8_t       rest[];    /**< UCP's own key, packed */
} ucp_win_remote_t;


/** @return the window that a key is for, or NULL. Takes no lock. */
static inline ucp_win_remote_t *ucp_win_remote_find(ucp_rkey_h rkey)
{
    return (ucp_win_remote_t*)ucs_map_find(&ucp_win.remotes, rkey);
}

/* These stand for those of predreg_windows_t */
int ucp_win_serves(ucp_rkey_h rkey);
int ucp_win_rkey_unpack(ucp_ep_h ep, const void *packed, ucp_rkey_h *rkey_p,
                        ucs_status_t *status_p);
void ucp_win_rkey_destroying(ucp_rkey_h rkey);
void ucp_win_rkey_compare(ucp_rkey_h rkey1, ucp_rkey_h rkey2, int *result_p);

#endif
