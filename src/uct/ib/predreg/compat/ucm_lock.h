/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_UCM_LOCK_H_
#define UCT_PREDREG_UCM_LOCK_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file ucm_lock.h
 *
 * The lock of UCM's memory events in forked children. Each call of mmap(), munmap()
 * and the like holds it for reading, the time in the kernel included, and whoever
 * asks for events holds it for writing (ucm_event_enter() and
 * ucm_event_enter_exclusive() of ucm/event/event.c, UCX 1.13 to 1.23). A child
 * that is forked while another thread is in such a call inherits a lock that
 * nobody will release: it may read, but hangs when it asks for events, as UCX does
 * for each of its caches. UCX does nothing about that, and an arena makes it more
 * likely, as it serves some of these calls by filling memory.
 *
 * The lock cannot be held across the fork instead: a thread that has a lock of an
 * allocator and waits for this one would be waited for by the allocator's own
 * fork handler.
 */

/**
 * Find the lock of the UCM that this library is linked with. May be called again.
 * For a moment it is held for writing. Not in memory hooks; one thread at a time.
 * If it is not found, since UCM or the C library is another one than is known,
 * children are as without this.
 */
void uct_predreg_ucm_lock_find(void);

/**
 * In a forked child: let go of the lock for the threads that the child does not
 * have. To be called before it has others. If a handler of a signal forks after it
 * has interrupted such a call, and the child returns from the handler, the child
 * itself lets go of the lock once more, after which it may still read only.
 */
void uct_predreg_ucm_lock_forked(void);

END_C_DECLS

#endif
