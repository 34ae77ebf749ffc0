/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_COUNTERS_H_
#define UCT_PREDREG_COUNTERS_H_

#include <ucs/sys/compiler_def.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file counters.h
 *
 * What the core counts besides the cache: uses that were left to UCX's own
 * cache, and what the kernel counts as pinned. Uses the state only. Any thread;
 * waits for nobody.
 */

/** A use was left to UCX's cache. */
void uct_predreg_count_passed(void);

/** Uses that were left to UCX's cache so far. */
uint64_t uct_predreg_num_passed(void);

/**
 * Remember what the kernel counts as pinned by this process (VmPin), if it is
 * the most so far, and if a summary or a trace will tell it.
 */
void uct_predreg_note_pinned(void);

END_C_DECLS

#endif
