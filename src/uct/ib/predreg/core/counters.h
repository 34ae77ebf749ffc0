/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_COUNTERS_H_
#define UCT_PREDREG_COUNTERS_H_

#include "types.h"

#include <ucs/sys/compiler_def.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file counters.h
 *
 * Numbers that the core counts, besides those that the cache counts: uses that
 * were left to UCX's own cache, and how much memory the kernel counts as
 * pinned. This module uses the core's state only. Any thread may call its
 * functions; they wait for nobody.
 */

/** Count a use that was left to UCX's own cache. */
void uct_predreg_count_passed(uct_predreg_core_t *core);

/** @return how many uses were left to UCX's own cache so far. */
uint64_t uct_predreg_num_passed(uct_predreg_core_t *core);

/**
 * Read how much memory the kernel counts as pinned by this process (VmPin), and
 * remember it if it is the most so far. Nothing is read if neither a summary
 * nor a trace is asked for, since these alone show it.
 */
void uct_predreg_note_pinned(uct_predreg_core_t *core);

END_C_DECLS

#endif
