/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ENTRY_H_
#define UCT_PREDREG_ENTRY_H_

#include <ucs/sys/compiler_def.h>
#include <uct/ib/predreg/core/hooks.h>
#include <uct/ib/predreg/core/types.h>

BEGIN_C_DECLS

/** @file entry.h
 *
 * The entry points of the core: the functions that the preloaded library calls
 * through its table of hooks. It has no state of ours to give them, so they,
 * and the start and exit of the core, name the one state of the process, and
 * pass it on. Nothing below them names it.
 */

/** The state of this process. */
extern uct_predreg_core_t uct_predreg_core;

/** What the preloaded library calls. Any thread may call these functions. */
extern const uct_predreg_hooks_t uct_predreg_hooks;

/** @return the same, with the hooks of small sends. To be called once. */
const uct_predreg_hooks_t *uct_predreg_hooks_with_sends(void);

END_C_DECLS

#endif
