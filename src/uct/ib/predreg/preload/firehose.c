/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "firehose.h"
#include "preload.h"

#include <stdlib.h>
#include <unistd.h>


PREDREG_EXPORT ucs_status_t
predreg_firehose_map_1(ucp_context_h context,
                       const ucp_mem_map_params_t *params, ucp_mem_h *memh_p)
{
    unsigned ucx                  = predreg_ucx(PREDREG_CALLER);
    uct_predreg_purpose_t purpose = predreg_purpose;
    ucs_status_t status;

    predreg_purpose = UCT_PREDREG_PURPOSE_FIREHOSE;
    status          = PREDREG_REAL(ucx, ucp_mem_map)(context, params, memh_p);
    predreg_purpose = purpose;
    return status;
}

ucs_status_t
predreg_map_window(unsigned ucx, ucp_context_h context,
                   const ucp_mem_map_params_t *params, ucp_mem_h *memh_p,
                   unsigned *num_p)
{
    uct_predreg_purpose_t purpose = predreg_purpose;
    ucs_status_t status;

    predreg_purpose      = UCT_PREDREG_PURPOSE_WINDOW;
    predreg_window_pages = 0;
    status               = PREDREG_REAL(ucx, ucp_mem_map)(context, params,
                                                          memh_p);
    predreg_purpose      = purpose;
    *num_p               = predreg_window_pages;
    return status;
}

/* @return how many managed domains a context has, as a page of memory finds; 0: that
 *         is not known */
static unsigned count_domains(unsigned ucx, ucp_context_h context)
{
    size_t page = sysconf(_SC_PAGESIZE);
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                      UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address    = aligned_alloc(page, page),
        .length     = page
    };
    unsigned num = 0;
    ucp_mem_h memh;

    if (params.address == NULL) {
        return 0;
    }

    if (predreg_map_window(ucx, context, &params, &memh, &num) == UCS_OK) {
        PREDREG_REAL(ucx, ucp_mem_unmap)(context, memh);
    }
    free(params.address);
    return num;
}

PREDREG_EXPORT uint64_t predreg_firehose_room_2(ucp_context_h context)
{
    unsigned ucx                     = predreg_ucx(PREDREG_CALLER);
    const uct_predreg_hooks_t *hooks = predreg_hooks(ucx);

    return (hooks == NULL) ?
                   UINT64_MAX :
                   hooks->firehose_room(count_domains(ucx, context));
}

PREDREG_EXPORT void predreg_firehose_count_1(uint64_t requests, uint64_t hits)
{
    const uct_predreg_hooks_t *hooks =
            predreg_hooks(predreg_ucx(PREDREG_CALLER));

    if (hooks != NULL) {
        hooks->firehose_count(requests, hits);
    }
}
