/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_CACHE_H_
#define UCT_PREDREG_CACHE_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file cache.h
 *
 * The cache of this process, with its helper and its place among the processes
 * of the node. It is made when it is first needed: at the start, and in a
 * forked child that opens a memory domain of its own.
 */

/** Whether memory is to be managed in this process. If so, the cache is there
 *  afterwards. Any thread; may take core.lock. */
int uct_predreg_is_managing(void);

/**
 * Join the processes of the node, if this is to be the first domain, and start
 * the helper thread, if there is to be one and it is not running. If it cannot
 * start, memory is registered on demand. Under core.lock, when the cache is
 * there.
 */
void uct_predreg_helper_start(void);

END_C_DECLS

#endif
