/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "access.h"
#include "expose.h"
#include "flush.h"
#include "forms.h"
#include "start.h"
#include "ticket.h"
#include "way.h"

#include <ucs/debug/log_def.h>

/* What libuct_predreg.so finds in this library */


static predreg_windows_t windows = {
    .serves            = ucp_win_serves,
    .mem_map           = ucp_win_mem_map,
    .mem_unmapping     = ucp_win_mem_unmapping,
    .is_window         = ucp_win_is_window,
    .rkey_pack         = ucp_win_rkey_pack,
    .packed_release    = ucp_win_packed_release,
    .rkey_unpack       = ucp_win_rkey_unpack,
    .rkey_compare      = ucp_win_rkey_compare,
    .rkey_destroying   = ucp_win_rkey_destroying,
    .request_freeing   = ucp_win_ticket_freeing,
    .context_made      = ucp_win_start_context,
    .worker_made       = ucp_win_worker_add,
    .worker_destroying = ucp_win_way_close_worker,
    .cleaning          = ucp_win_end,
    .ep_made           = ucp_win_way_add,
    .ep_closing        = ucp_win_way_begin_close,
    .ep_closed         = ucp_win_way_closed,
    .needs_flush       = ucp_win_pieces_exist,
    .flush_nbx         = ucp_win_flush_nbx,
    .flush_nb          = ucp_win_flush_nb,
    .flush             = ucp_win_flush,
    .progressed        = ucp_win_way_progressed
};


__attribute__((visibility("default"))) const predreg_windows_t *
ucp_windows_init_4(const predreg_windows_env_t *env)
{
    ucp_win_start_init(env);
    ucp_win_forms_fill(&windows);
    return &windows;
}
