/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "preloaded.h"

#include <uct/ib/predreg/preload/firehose.h>

/* NULL where libuct_predreg.so is not preloaded */
#pragma weak predreg_firehose_map_1
#pragma weak predreg_firehose_room_2
#pragma weak predreg_firehose_count_1


ucs_status_t ucp_fh_preloaded_map(ucp_context_h context,
                                  const ucp_mem_map_params_t *params,
                                  ucp_mem_h *memh_p)
{
    return (predreg_firehose_map_1 != NULL) ?
                   predreg_firehose_map_1(context, params, memh_p) :
                   ucp_mem_map(context, params, memh_p);
}

uint64_t ucp_fh_preloaded_room(ucp_context_h context)
{
    return (predreg_firehose_room_2 != NULL) ? predreg_firehose_room_2(context) :
                                               UINT64_MAX;
}

void ucp_fh_report(ucp_fh_t *fh)
{
    const ucp_fh_remote_stats_t *stats = &fh->remote.stats;

    if (predreg_firehose_count_1 != NULL) {
        predreg_firehose_count_1(stats->requests - fh->told_requests,
                                 stats->hits - fh->told_hits);
    }
    fh->told_requests = stats->requests;
    fh->told_hits     = stats->hits;
}
