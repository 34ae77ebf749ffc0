/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "preload.h"

/*
 * Memory that a program maps for its peers, and keys to such memory: overriding functions of
 * UCP, and functions for libucp_windows.so, whose windows are such memory
 * (predreg_windows_env_t). The caller of the latter is always libucp_windows.so, linked with
 * the same UCP as the core.
 */


PREDREG_EXPORT ucs_status_t
ucp_mem_map(ucp_context_h context, const ucp_mem_map_params_t *params,
            ucp_mem_h *memh_p)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    uct_predreg_purpose_t purpose    = predreg_thread.purpose;
    const predreg_windows_t *windows = predreg_windows(ucx);
    ucs_status_t status;

    if ((windows != NULL) &&
        windows->mem_map(context, params, memh_p, &status)) {
        return status;
    }

    predreg_thread.purpose = UCT_PREDREG_PURPOSE_MAPPED;
    status          = PREDREG_REAL(ucx, ucp_mem_map)(context, params, memh_p);
    predreg_thread.purpose = purpose;
    return status;
}

/* MPI_Rput() and MPI_Rget() of Open MPI 4 look for the state of a dynamic window among the
 * memory that is attached to the window, but the state is elsewhere (get_dynamic_win_info()
 * in osc_ucx_comm.c). They unpack the key of the entry before the first one, i.e. bytes of
 * the heap before the table, and make no use of the key. UCX crashes if the bytes happen to
 * be the wrong ones, likelier with the allocations of this library. @return the key; in
 * place of such a stray key, a key to nothing */
static const void *replace_stray_key(const void *key)
{
    static const char nothing[64]; /* A key in which no domain has a part */
    uintptr_t first = (uintptr_t)predreg_thread.dynamic_keys + 3 * sizeof(uint64_t);

    return ((predreg_thread.dynamic_keys != NULL) &&
            ((uintptr_t)key == first - PREDREG_DYNAMIC_ENTRY)) ? nothing : key;
}

PREDREG_EXPORT ucs_status_t
ucp_ep_rkey_unpack(ucp_ep_h ep, const void *rkey_buffer, ucp_rkey_h *rkey_p)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const predreg_windows_t *windows = predreg_windows(ucx);
    ucs_status_t status;

    rkey_buffer = replace_stray_key(rkey_buffer);
    if ((windows != NULL) &&
        windows->rkey_unpack(ep, rkey_buffer, rkey_p, &status)) {
        return status;
    }

    return PREDREG_REAL(ucx, ucp_ep_rkey_unpack)(ep, rkey_buffer, rkey_p);
}


ucs_status_t
predreg_map_window(unsigned ucx, ucp_context_h context,
                   const ucp_mem_map_params_t *params, ucp_mem_h *memh_p,
                   unsigned *num_p)
{
    uct_predreg_purpose_t purpose = predreg_thread.purpose;
    ucs_status_t status;

    predreg_thread.purpose      = UCT_PREDREG_PURPOSE_WINDOW;
    predreg_thread.window_pages = 0;
    status               = PREDREG_REAL(ucx, ucp_mem_map)(context, params,
                                                          memh_p);
    predreg_thread.purpose      = purpose;
    *num_p               = predreg_thread.window_pages;
    return status;
}

static ucs_status_t
map(ucp_context_h context, const ucp_mem_map_params_t *params,
    ucp_mem_h *memh_p, unsigned *num_p)
{
    return predreg_map_window(predreg_ucx(PREDREG_CALLER), context, params,
                              memh_p, num_p);
}

static ucs_status_t pack(ucp_context_h context, ucp_mem_h memh, void **packed_p,
                         size_t *length_p, uint64_t *parts_p)
{
    unsigned ucx              = predreg_ucx(PREDREG_CALLER);
    predreg_packing_t packing = {};
    ucs_status_t status;

    predreg_thread.packing = &packing;
    status          = PREDREG_REAL(ucx, ucp_rkey_pack)(context, memh, packed_p,
                                                       length_p);
    predreg_thread.packing = NULL;
    *parts_p        = packing.parts;
    return status;
}

static int is_in_progress(void)
{
    return predreg_thread.in_progress > 0;
}

static void begin_whole(void *buffer, size_t length)
{
    predreg_thread.whole.address = buffer;
    predreg_thread.whole.length  = length;
}

static int end_whole(void)
{
    int is_refused = (predreg_thread.whole.length == 0);

    predreg_thread.whole.length = 0;
    return is_refused;
}

const predreg_windows_env_t predreg_windows_env = {
    .map            = map,
    .pack           = pack,
    .is_in_progress = is_in_progress,
    .begin_whole    = begin_whole,
    .end_whole      = end_whole
};
