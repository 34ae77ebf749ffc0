/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_EAGER_MAP_H_
#define UCT_PREDREG_EAGER_MAP_H_

#include <uct/ib/predreg/compat/real.h>

#include <ucp/api/ucp.h>

/** @file map.h
 *
 * Registrations of hot buffers with UCP, and of those that such registrations
 * are measured with. What UCP is asked for is the same for both.
 */

/** Register memory of the host with a context of UCP. */
static inline ucs_status_t
uct_predreg_eager_map(const uct_predreg_real_t *real, ucp_context_h ucp,
                      void *address, size_t length, ucp_mem_h *memh_p)
{
    const ucp_mem_map_params_t params = {
        .field_mask  = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                       UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                       UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE,
        .address     = address,
        .length      = length,
        .memory_type = UCS_MEMORY_TYPE_HOST
    };

    return real->ucp_mem_map(ucp, &params, memh_p);
}

#endif
