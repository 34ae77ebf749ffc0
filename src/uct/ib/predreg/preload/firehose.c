/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "firehose.h"
#include "preload.h"


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

PREDREG_EXPORT uint64_t predreg_firehose_room_1(void)
{
    const uct_predreg_hooks_t *hooks =
            predreg_hooks(predreg_ucx(PREDREG_CALLER));

    return (hooks == NULL) ? UINT64_MAX : hooks->firehose_room();
}

PREDREG_EXPORT void predreg_firehose_count_1(uint64_t requests, uint64_t hits)
{
    const uct_predreg_hooks_t *hooks =
            predreg_hooks(predreg_ucx(PREDREG_CALLER));

    if (hooks != NULL) {
        hooks->firehose_count(requests, hits);
    }
}
