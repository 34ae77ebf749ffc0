/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_STATUS_H_
#define UCT_PREDREG_STATUS_H_

#include "aside.h"

BEGIN_C_DECLS

/** @file status.h
 *
 * What the preloaded library says of itself to a tool in its process, as the probe of
 * `ucx_predreg info` is. Such a tool finds the function by its name.
 */

/** Name of the function. */
#define UCT_PREDREG_STATUS "predreg_status"

/**
 * Tell what becomes of the UCX of this process:
 *
 *   aside REASON, why TEXT, advice TEXT   the library has stepped aside (aside.h)
 *   policy NAME       the core was started, with this policy in force
 *   managed DOMAIN    a memory domain that is open and managed, or watched under
 *                     leave-pinned; once for each
 *   settings TEXT     what was taken over from UCX's own caches
 *   small COSTS       what small sends cost (ucs/reuse/costs.h), under EAGER; once
 *                     for each context of UCP
 *
 * To be called while no other thread uses UCX.
 */
void predreg_status(uct_predreg_tell_t tell, void *arg);

typedef void (*uct_predreg_status_func_t)(uct_predreg_tell_t tell, void *arg);

END_C_DECLS

#endif
