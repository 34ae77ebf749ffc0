/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "prior.h"

#include <tools/predreg/common/message.h>


void predreg_trace_prior_init(predreg_trace_prior_t *prior,
                              const ucs_rcache_profile_t *profile,
                              const ucs_rcache_trace_t *trace)
{
    prior->profile = profile;
    prior->names   = (profile == NULL) ?
                     NULL :
                     predreg_check_memory(ucs_rcache_profile_names_create(trace));
}

void predreg_trace_prior_cleanup(predreg_trace_prior_t *prior)
{
    if (prior->names != NULL) {
        ucs_rcache_profile_names_destroy(prior->names);
    }
}

static unsigned ask(void *arg, const ucs_rcache_pred_context_t *context,
                    uint64_t length, ucs_rcache_pred_time_t *intervals)
{
    predreg_trace_prior_t *prior = arg;
    uint64_t name;

    return ((ucs_rcache_profile_names_find(prior->names, context, &name) ==
             UCS_OK) && (name != 0)) ?
           ucs_rcache_profile_ask(prior->profile, name, length, intervals) : 0;
}

predreg_prior_t predreg_trace_prior_ops(predreg_trace_prior_t *prior)
{
    return (predreg_prior_t){
        .ask = (prior->profile == NULL) ? NULL : ask,
        .arg = prior
    };
}
