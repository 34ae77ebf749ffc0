/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_LIVE_H_
#define UCT_PREDREG_LIVE_H_

#include "types.h"

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file live.h
 *
 * This process's live counters: what other processes (ucx_predreg stat) and
 * UCX's virtual file system see of it while it runs.
 */

/** Make the live counters, unless they exist already. If that fails, other
 *  processes do not see this one, and the next call tries again. To be called
 *  under core.lock, before the first domain is entered. */
void uct_predreg_live_start(uct_predreg_core_t *core);

/** Take the live counters out of UCX's virtual file system, which must not ask
 *  for them any more once the process exits. */
void uct_predreg_live_stop(uct_predreg_core_t *core);

/** Forget the live counters in a forked child: they are the parent's. */
void uct_predreg_live_reset(uct_predreg_core_t *core);

/** Show the present values of the counters to other processes. Any thread may
 *  call this; it waits for nobody. */
void uct_predreg_publish(uct_predreg_core_t *core);

END_C_DECLS

#endif
