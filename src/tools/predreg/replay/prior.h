/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPLAY_PRIOR_H_
#define PREDREG_REPLAY_PRIOR_H_

#include <tools/replay/sim/sim.h>
#include <trace/content/content.h>
#include <trace/profile/names.h>
#include <trace/profile/profile.h>

BEGIN_C_DECLS

/** @file prior.h What a profile says of the places in a trace that is replayed. */

typedef struct predreg_trace_prior {
    const ucs_rcache_profile_t *profile; /**< NULL: there is none */
    ucs_rcache_profile_names_t *names;
} predreg_trace_prior_t;


/** @param [in] profile  Both have to stay until this is cleaned up. NULL: there
 *                       is none. */
void predreg_trace_prior_init(predreg_trace_prior_t *prior,
                              const ucs_rcache_profile_t *profile,
                              const ucs_rcache_trace_t *trace);

void predreg_trace_prior_cleanup(predreg_trace_prior_t *prior);

/** @return whom the replay asks. */
predreg_prior_t predreg_trace_prior_ops(predreg_trace_prior_t *prior);

END_C_DECLS

#endif
