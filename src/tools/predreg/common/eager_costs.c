/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "eager_costs.h"
#include "message.h"

#include <uct/ib/predreg/eager/costs_file.h>
#include <uct/ib/predreg/eager/costs_key.h>

#include <stdio.h>
#include <stdlib.h>


const char *predreg_eager_costs_find(const ucs_rcache_trace_t *trace,
                                     ucs_reuse_costs_t *costs)
{
    const char *version = ucs_rcache_trace_get_meta(trace, "ucx_version");
    char key[UCT_PREDREG_COSTS_KEY_MAX], depends[UCT_PREDREG_COSTS_KEY_MAX];
    unsigned major, minor, release, i;
    const char **domains;

    if ((version == NULL) ||
        (sscanf(version, "%u.%u.%u", &major, &minor, &release) != 3)) {
        return "the trace does not say which UCX it is of";
    }

    /* The key sorts the names */
    domains = predreg_check_memory(calloc(trace->num_domains + 1,
                                          sizeof(*domains)));
    for (i = 0; i < trace->num_domains; ++i) {
        domains[i] = trace->domains[i];
    }

    uct_predreg_costs_key(major, minor, release, domains, trace->num_domains,
                          key);
    free(domains);
    uct_predreg_costs_depends(key, depends);
    return uct_predreg_costs_load(depends, costs);
}
