/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PROFILE_GATHER_H_
#define UCS_RCACHE_PROFILE_GATHER_H_

#include "profile.h"

#include <trace/content/content.h>

BEGIN_C_DECLS

/** @file gather.h
 *
 * Makes a profile of traces: those of all processes of a job, or of several jobs, go into
 * one. Uses names.h, profile.h and khash of UCS. Pure, but for the memory it allocates.
 *
 * Threads: one at a time uses a gatherer.
 */

typedef struct ucs_rcache_profile_gather ucs_rcache_profile_gather_t;


/** @return NULL if there is no memory. */
ucs_rcache_profile_gather_t *ucs_rcache_profile_gather_create(void);

/** Free what was gathered. */
void ucs_rcache_profile_gather_destroy(ucs_rcache_profile_gather_t *gather);

/**
 * Add the uses of a trace. Uses are left out that failed, that an arena has answered, and
 * whose place the trace does not tell; so are intervals between memory that was unmapped and
 * what was mapped in its place. Slices that were joined have intervals of their own.
 *
 * @param [inout] left_out_p  Raised by the number of uses without a place.
 * @return UCS_ERR_NO_MEMORY, not logged.
 */
ucs_status_t
ucs_rcache_profile_gather_add(ucs_rcache_profile_gather_t *gather,
                              const ucs_rcache_trace_t *trace,
                              uint64_t *left_out_p);

/**
 * Make a profile of what was added. For each place and length, there are the tenth and the
 * ninetieth percentile of the intervals, and then their median; or the only one there was.
 *
 * @param [out] profile  Is to be freed by the caller.
 * @return UCS_ERR_NO_MEMORY, UCS_ERR_EXCEEDS_LIMIT, not logged.
 */
ucs_status_t
ucs_rcache_profile_gather_finish(ucs_rcache_profile_gather_t *gather,
                                 ucs_rcache_profile_t *profile);

END_C_DECLS

#endif
