/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_PRELOADED_H_
#define UCP_FH_PRELOADED_H_

#include "state.h"

/** @file preloaded.h
 *
 * What this library asks of libuct_predreg.so where that is preloaded. Where it
 * is not, UCP alone is asked, and there are no bounds but M + MAXVICTIM. */

/** As ucp_mem_map(), within the bounds that all registrations of the process
 *  keep.
 *
 * @return UCS_ERR_EXCEEDS_LIMIT if they leave no room; else as
 * ucp_mem_map(). */
ucs_status_t ucp_fh_preloaded_map(ucp_context_h context,
                                  const ucp_mem_map_params_t *params,
                                  ucp_mem_h *memh_p);

/** @return how many bytes a context may pin within those bounds, if nothing else
 *          is; UINT64_MAX: there are none. */
uint64_t ucp_fh_preloaded_room(ucp_context_h context);

#endif
