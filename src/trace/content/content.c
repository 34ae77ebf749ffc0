/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "content.h"

#include <stdlib.h>
#include <string.h>


void ucs_rcache_trace_free(ucs_rcache_trace_t *trace)
{
    size_t i;

    if (trace == NULL) {
        return;
    }

    for (i = 0; i < trace->num_meta; ++i) {
        free(trace->meta[i].key);
        free(trace->meta[i].value);
    }
    for (i = 0; i < trace->num_domains; ++i) {
        free(trace->domains[i]);
    }
    for (i = 0; i < trace->num_modules; ++i) {
        free(trace->modules[i].path);
    }
    for (i = 0; i < trace->num_counters; ++i) {
        free(trace->counters[i].name);
    }

    free(trace->meta);
    free(trace->domains);
    free(trace->events);
    free(trace->sites);
    free(trace->modules);
    free(trace->counters);
    free(trace->sends);
    free(trace->path);
    free(trace);
}

const char *ucs_rcache_trace_get_meta(const ucs_rcache_trace_t *trace,
                                      const char *key)
{
    unsigned i;

    for (i = trace->num_meta; i > 0; --i) {
        if (!strcmp(trace->meta[i - 1].key, key)) {
            return trace->meta[i - 1].value;
        }
    }

    return NULL;
}

int ucs_rcache_trace_get_counter(const ucs_rcache_trace_t *trace,
                                 const char *name, uint64_t *value_p)
{
    unsigned i;

    for (i = trace->num_counters; i > 0; --i) {
        if (!strcmp(trace->counters[i - 1].name, name)) {
            *value_p = trace->counters[i - 1].value;
            return 1;
        }
    }

    return 0;
}

const ucs_rcache_trace_site_t *
ucs_rcache_trace_find_site(const ucs_rcache_trace_t *trace,
                           const ucs_rcache_pred_context_t *context)
{
    unsigned i;

    for (i = 0; i < trace->num_sites; ++i) {
        if ((trace->sites[i].caller == context->caller) &&
            (trace->sites[i].stack == context->stack)) {
            return &trace->sites[i];
        }
    }

    return NULL;
}
