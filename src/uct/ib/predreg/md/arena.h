/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_MD_ARENA_H_
#define UCT_PREDREG_MD_ARENA_H_

#include "types.h"

#include <ucs/sys/compiler_def.h>
#include <uct/api/uct.h>
#include <uct/ib/predreg/core/types.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file md/arena.h
 *
 * The arena of this process (uct/ib/predreg/arena) and the managed domains: it
 * is made for the first one, and its slabs are registered in all.
 */

/** Let the arena serve a domain that was opened, if there is to be one; make it
 *  for the first domain. What cannot be is said once, and then uses of the domain
 *  register for themselves. To be called under core.lock, as the next one. */
void uct_predreg_arena_open_domain(uct_predreg_core_t *core,
                                   uct_predreg_domain_t *domain,
                                   const char *component);

/** Deregister the slabs in a domain that is about to be closed. */
void uct_predreg_arena_close_domain(uct_predreg_domain_t *domain);

/** Record in the trace, which there is, that a use of memory of the arena has
 *  begun or ended.
 *  @param [in] kind  ucs_rcache_pred_use_kind_t. */
void uct_predreg_arena_record_begin(uct_predreg_domain_t *domain,
                                    const void *address, size_t length,
                                    unsigned flags, unsigned kind,
                                    uct_mem_h memh);
void uct_predreg_arena_record_end(uct_predreg_domain_t *domain, uct_mem_h memh);

/** Give back memory of the arena that the program has nothing in. May wait for a
 *  registration. @return 0 if there is none. Any thread. */
int uct_predreg_arena_make_room(uct_predreg_core_t *core);

/** At the exit of the process: see uct_predreg_arena_stop(). */
void uct_predreg_arena_exit(uct_predreg_core_t *core, uint64_t patience);

/** Before the process forks, and in the parent after that, by one thread that
 *  no handler of a signal interrupts in between: see
 *  ucs_arena_before_fork(). */
void uct_predreg_arena_fork_prepare(uct_predreg_core_t *core);
void uct_predreg_arena_fork_parent(uct_predreg_core_t *core);

/** In a forked child, before it has other threads: it has no arena. */
void uct_predreg_arena_fork(uct_predreg_core_t *core);

END_C_DECLS

#endif
