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

#include <stddef.h>

BEGIN_C_DECLS

/** @file process.h
 *
 * Events of the process: it unmaps or protects memory, and it forks.
 */

/** From now on tell the cache, or under leave-pinned the watching (md/watch.c),
 *  when memory is unmapped. */
ucs_status_t uct_predreg_vm_events_start(uct_predreg_core_t *core);

/** The program is about to change its rights to whole pages, see mprotect(). In memory
 *  hooks.
 *  @param [in] prot  PROT_READ and so on. */
void uct_predreg_vm_protected(uct_predreg_core_t *core, const void *address,
                              size_t length, int prot);

/** From now on have forked children start without anything of their parent's.
 *  The handlers stay for good, so the state has to be that of the process. */
ucs_status_t uct_predreg_fork_handlers_install(uct_predreg_core_t *core);

END_C_DECLS

#endif
