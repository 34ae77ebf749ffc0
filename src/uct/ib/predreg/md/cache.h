/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_CACHE_H_
#define UCT_PREDREG_CACHE_H_

#include <ucs/sys/compiler_def.h>
#include <uct/ib/predreg/core/types.h>

BEGIN_C_DECLS

/** @file cache.h
 *
 * The cache of this process, its helper, and its place among the processes of
 * the node. The cache is made when it is first needed: at the start, or when a
 * forked child opens a memory domain of its own.
 */

/** @return whether memory is to be managed in this process. If so, the cache
 *  exists afterwards. Any thread may call this; it may take core.lock. */
int uct_predreg_is_managing(uct_predreg_core_t *core);

/**
 * Join the processes of the node, if this process is about to open its first
 * domain, and start the helper thread, if the knobs ask for one and it is not
 * running. If it cannot be started, memory is registered on demand. To be
 * called under core.lock, when the cache exists.
 */
void uct_predreg_helper_start(uct_predreg_core_t *core);

END_C_DECLS

#endif
