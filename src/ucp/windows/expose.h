/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_WIN_EXPOSE_H_
#define UCP_WIN_EXPOSE_H_

#include "state.h"

/** @file expose.h
 *
 * Windows of this process: memory that the program maps for its peers. The
 * functions stand for those of predreg_windows_t. */

int ucp_win_mem_map(ucp_context_h context, const ucp_mem_map_params_t *params,
                    ucp_mem_h *memh_p, ucs_status_t *status_p);

void ucp_win_mem_unmapping(ucp_context_h context, ucp_mem_h memh);

int ucp_win_is_window(ucp_mem_h memh);

int ucp_win_rkey_pack(ucp_context_h context, ucp_mem_h memh, void **packed_p,
                      size_t *length_p, ucs_status_t *status_p);

int ucp_win_packed_release(void *packed);

#endif
