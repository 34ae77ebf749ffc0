/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_PROCESS_H_
#define UCT_PREDREG_PROCESS_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>
#include <uct/ib/predreg/core/types.h>

BEGIN_C_DECLS

/** @file process.h
 *
 * Two events of the process: it unmaps memory, and it forks. The start of the
 * core calls both functions once, to be told of these events.
 */

/** From now on tell the cache, or under leave-pinned the watching (watch.h),
 *  when memory is unmapped. */
ucs_status_t uct_predreg_vm_events_start(uct_predreg_core_t *core);

/** From now on have forked children start without anything of their parent's.
 *  The handlers stay for good, so the state has to be that of the process. */
ucs_status_t uct_predreg_fork_handlers_install(uct_predreg_core_t *core);

END_C_DECLS

#endif
