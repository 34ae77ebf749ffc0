/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "state.h"


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
