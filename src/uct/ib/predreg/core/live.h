/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_LIVE_H_
#define UCT_PREDREG_LIVE_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file live.h
 *
 * This process's live counters: what other processes (ucx_predreg stat) and
 * UCX's virtual file system see of it while it runs.
 */

/** Make the live counters, unless they are there. If that fails, others do not
 *  see this process, and the next call tries again. Under core.lock, before the
 *  first domain. */
void uct_predreg_live_start(void);

/** The process exits: the file system must not ask it any more. */
void uct_predreg_live_stop(void);

/** In a forked child: the live counters are the parent's. */
void uct_predreg_live_reset(void);

/** The counters have changed. Any thread; waits for nobody.
 *  @param arg  Not used; the cache calls this as one of its operations. */
void uct_predreg_publish(void *arg);

END_C_DECLS

#endif
