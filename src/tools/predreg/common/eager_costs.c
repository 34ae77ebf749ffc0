/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "eager_costs.h"


const char *predreg_eager_costs_find(const ucs_rcache_trace_t *trace,
                                     ucs_reuse_costs_t *costs)
{
    const char *text = ucs_rcache_trace_get_meta(trace, UCS_REUSE_COSTS_META);

    if (text == NULL) {
        return "the trace does not say what small sends cost";
    }

    return ucs_reuse_costs_parse(text, costs) ?
           NULL : "what the trace says of the costs of small sends is damaged";
}
