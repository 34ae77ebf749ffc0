/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PROFILE_NAMES_H_
#define UCS_RCACHE_PROFILE_NAMES_H_

#include <trace/content/content.h>

#include <ucs/type/status.h>

BEGIN_C_DECLS

/** @file names.h
 *
 * The names (name.h) of the places in a trace, each of which is found out once. Uses
 * name.h and khash of UCS.
 *
 * Threads: one at a time uses the names of a trace.
 */

typedef struct ucs_rcache_profile_names ucs_rcache_profile_names_t;


/** @param [in] trace  Has to stay as long as the names.
 *  @return NULL if there is no memory. */
ucs_rcache_profile_names_t *
ucs_rcache_profile_names_create(const ucs_rcache_trace_t *trace);

/** Free the names. */
void ucs_rcache_profile_names_destroy(ucs_rcache_profile_names_t *names);

/**
 * Find the name of the place that a use came from.
 *
 * @param [out] name_p  0: the trace does not tell its stack.
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t
ucs_rcache_profile_names_find(ucs_rcache_profile_names_t *names,
                              const ucs_rcache_pred_context_t *context,
                              uint64_t *name_p);

END_C_DECLS

#endif
