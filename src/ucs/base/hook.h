/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_HOOK_H_
#define UCS_HOOK_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file hook.h
 *
 * Sections of memory hooks that no handler of a signal may interrupt.
 *
 * A program may map and unmap memory in the handler of a signal, although POSIX
 * allows neither, and the signal may come while its thread is in a memory hook. The
 * thread does not go on before the handler has returned: a handler that waited
 * for a lock that its own thread has, or for pages at which its own thread works,
 * would wait for ever. So signals wait until the thread has left the hook, and a
 * handler finds every table as another thread would find the table: memory that
 * the handler unmaps is unmapped when munmap() returns.
 *
 * The alternative was to let the handler run, and to defer the work that its
 * unmappings cause. But a list of deferred ranges needs an answer for the range
 * that finds the list full, and for memory that the handler maps where it has
 * just unmapped some while other threads still work at the old pages. A pair of
 * calls here takes two system calls, 0.3 us together on a virtual machine,
 * where munmap() itself takes longer. Each use of the cache holds the lock of the
 * cache for some 25 ns, and two system calls would take far longer: so the cache
 * does defer unmappings (ucs/rcache_pred/cache/deferred.c).
 */

/** No handler of a signal interrupts this thread from now on until ucs_hook_leave().
 *  Sections nest: only the outermost one calls the kernel. May be called in handlers,
 *  and with any lock. Leaves errno as it was. */
void ucs_hook_enter(void);

/** End a section that ucs_hook_enter() has begun in the same thread, or in the parent
 *  of this forked child. Signals that have come meanwhile are handled
 *  before the outermost call returns: the caller must have unlocked all locks
 *  of hooks before. */
void ucs_hook_leave(void);

END_C_DECLS

#endif
