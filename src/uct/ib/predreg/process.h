/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_PROCESS_H_
#define UCT_PREDREG_PROCESS_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

BEGIN_C_DECLS

/** @file process.h
 *
 * Events of the process: memory is unmapped, and the process forks. The start
 * of the core asks for them, once.
 */

/** From now on the cache, or what watches, is told when memory is unmapped. */
ucs_status_t uct_predreg_vm_events_start(void);

/** From now on forked children start with nothing. */
ucs_status_t uct_predreg_fork_handlers_install(void);

END_C_DECLS

#endif
