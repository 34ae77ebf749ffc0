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
 * The lock of UCM's memory events in forked children. Each call of mmap(), munmap() and
 * the like holds the lock for reading, the time in the kernel included, and a thread
 * that asks for events holds it for writing (ucm_event_enter() and
 * ucm_event_enter_exclusive() of ucm/event/event.c, UCX 1.13 to 1.23). A child that is
 * forked while another thread is in such a call inherits a lock that nobody will
 * release: the child may read, but hangs when it asks for events, as UCX does for each
 * of its caches. UCX does nothing about the hang, and an arena makes the hang more
 * likely, as the arena serves some mappings by filling memory.
 *
 * Holding the lock across the fork would not do: a thread with a lock of an allocator
 * may wait for UCM's lock, and the allocator's own fork handler would wait for the
 * thread.
 */

/**
 * Find the lock of the UCM of this library. May be called again. For a moment the lock is
 * held for writing. Not in memory hooks; one thread at a time. If the lock is not found,
 * since UCM or the C library is another one than is known, forked children may hang as
 * described above.
 */
void uct_predreg_ucm_lock_find(void);

/**
 * In a forked child: let go of the lock for the threads that only the parent has. To be
 * called before the child has other threads. If the handler of a signal has interrupted a
 * call that holds the lock, and forks, and the child returns from the handler, then the
 * child releases the lock a second time, and may only read from then on.
 */
void uct_predreg_ucm_lock_forked(void);

END_C_DECLS

#endif
