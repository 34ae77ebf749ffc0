/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "types.h"

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <inttypes.h>


ucs_status_t ucp_fh_run_cover(unsigned shift, uint64_t address, uint64_t length,
                              ucp_fh_run_t *run)
{
    uint64_t last = address + length - 1;

    if ((length == 0) || (last < address)) {
        return UCS_ERR_INVALID_PARAM;
    }

    run->first = address >> shift;
    run->num   = (last >> shift) - run->first + 1;
    return UCS_OK;
}

ucs_status_t ucp_fh_share(uint64_t m, unsigned shift, unsigned peers,
                          uint32_t *share_p)
{
    uint64_t share = (m >> shift) / peers;

    if (share == 0) {
        ucs_error("%" PRIu64 " bytes to be pinned for %u peers are less than a "
                  "bucket of %" PRIu64 " bytes for each; accepted: %" PRIu64
                  " bytes and more", m, peers, UCS_BIT(shift),
                  (uint64_t)peers << shift);
        return UCS_ERR_EXCEEDS_LIMIT;
    }

    *share_p = ucs_min(share, UINT32_MAX);
    return UCS_OK;
}

void ucp_fh_comp_end(ucp_fh_comp_t *comp, ucs_list_link_t *ended,
                     ucs_status_t status)
{
    comp->status = status;
    ucs_list_add_tail(ended, &comp->link);
}

ucp_fh_comp_t *ucp_fh_comp_next(ucs_list_link_t *ended)
{
    return ucs_list_is_empty(ended) ?
                   NULL :
                   ucs_list_extract_head(ended, ucp_fh_comp_t, link);
}
