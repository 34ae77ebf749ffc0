/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_SENDS_H_
#define UCT_PREDREG_SENDS_H_

#include <ucs/sys/compiler_def.h>
#include <uct/ib/predreg/core/hooks.h>
#include <uct/ib/predreg/core/types.h>

BEGIN_C_DECLS

/** @file sends.h
 *
 * The small sends of a process whose trace is recorded: how often each buffer
 * was sent. They are counted whether UCX_RCACHE_PRED_EAGER is set or not, and
 * are no events: the counts are written at the end of the trace. A process
 * without a trace gets none of these hooks, so that its sends pay nothing for
 * them.
 */

/**
 * Let sends be counted, if a trace is asked for. If there is no memory for
 * that, a warning is logged. To be called once, when the core starts.
 *
 * @param [in] others  What the preloaded library would call otherwise: with the
 *                     hooks of sends if these are looked at anyway.
 * @return the hooks it is to call.
 */
const uct_predreg_hooks_t *
uct_predreg_sends_start(uct_predreg_core_t *core,
                        const uct_predreg_hooks_t *others);

/** Write what was counted into the trace. To be called before
 *  uct_predreg_record_finish(). */
void uct_predreg_sends_write(uct_predreg_core_t *core);

/** In a forked child, where there is no other thread: its own sends are counted
 *  from now on. */
void uct_predreg_sends_fork(void);

END_C_DECLS

#endif
