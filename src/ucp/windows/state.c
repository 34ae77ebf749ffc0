/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "state.h"

#include <sched.h>


ucp_win_t ucp_win = {
    .ways       = UCP_WIN_MAP_INITIALIZER,
    .contexts   = UCP_WIN_MAP_INITIALIZER,
    .windows    = UCP_WIN_MAP_INITIALIZER,
    .remotes    = UCP_WIN_MAP_INITIALIZER,
    .packed     = UCP_WIN_MAP_INITIALIZER,
    .lock       = PTHREAD_MUTEX_INITIALIZER,
    .start_lock = PTHREAD_MUTEX_INITIALIZER,
    .fh_lock    = PTHREAD_MUTEX_INITIALIZER
};

__thread unsigned ucp_win_depth;


ucp_win_entry_t ucp_win_enter_always(void)
{
    ucp_win_entry_t entry = ucp_win_enter();

    while ((entry == UCP_WIN_REFUSED) && (ucp_win_fh() != NULL)) {
        sched_yield();
    }
    return entry;
}
