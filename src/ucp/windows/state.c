/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "state.h"


ucp_win_t ucp_win = {
    .ways       = UCS_MAP_INITIALIZER(UCS_RANK_WIN_MAP),
    .contexts   = UCS_MAP_INITIALIZER(UCS_RANK_WIN_MAP),
    .shared     = UCS_MAP_INITIALIZER(UCS_RANK_WIN_MAP),
    .windows    = UCS_MAP_INITIALIZER(UCS_RANK_WIN_MAP),
    .remotes    = UCS_MAP_INITIALIZER(UCS_RANK_WIN_MAP),
    .packed     = UCS_MAP_INITIALIZER(UCS_RANK_WIN_MAP),
    .lock       = UCS_MUTEX_INITIALIZER(UCS_RANK_WIN),
    .unused     = PTHREAD_COND_INITIALIZER,
    .start_lock = UCS_MUTEX_INITIALIZER(UCS_RANK_WIN_START),
    .fh_lock    = UCS_MUTEX_INITIALIZER(UCS_RANK_FH)
};

__thread unsigned ucp_win_depth;


ucp_win_entry_t ucp_win_enter_always(void)
{
    ucp_win_entry_t entry = ucp_win_enter();

    if (ucs_likely(entry != UCP_WIN_REFUSED)) {
        return entry;
    }

    /* Who ends Firehose holds the lock from when it finds no call until Firehose is not
     * to be seen any more */
    ucs_mutex_lock(&ucp_win.lock);
    if (ucp_win_fh() != NULL) {
        atomic_fetch_add(&ucp_win.num_calls, 1);
        ucp_win_depth = 1;
        entry         = UCP_WIN_COUNTED;
    }
    ucs_mutex_unlock(&ucp_win.lock);
    return entry;
}
