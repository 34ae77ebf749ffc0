/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_ARENA_DEFERRED_H_
#define UCS_ARENA_DEFERRED_H_

#include "arena.h"

BEGIN_C_DECLS

/** @file deferred.h
 *
 * Memory that the handler of a signal spoils or frees, where the handler has
 * interrupted its thread in the arena: it must not wait for what its own thread has.
 */

/** Whether this thread has the lock of an arena, or is about to have it, or to
 *  give it up: a mutex of its own that tells its owner so would not know in the
 *  last two cases. Volatile, since handlers of signals read it. */
extern __thread volatile int ucs_arena_in_lock
        __attribute__((tls_model("initial-exec"), visibility("hidden")));

/** Whether this thread may hold pages without the lock: it must not wait until
 *  nobody does. Counts up and down. Volatile for the same reason. */
extern __thread volatile int ucs_arena_in_work
        __attribute__((tls_model("initial-exec"), visibility("hidden")));

/** Whether a handler has freed memory that has interrupted this thread in the lock, and
 *  the thread was not back in ucs_arena_catch_up() since. Volatile for the same reason. */
extern __thread volatile int ucs_arena_is_away
        __attribute__((tls_model("initial-exec"), visibility("hidden")));

/** What handlers have freed of a range is the program's again. Wait-free. */
void ucs_arena_forget_freed(ucs_arena_t *arena, uint32_t first, uint32_t end);

/** Spoil pages as soon as a thread leaves the lock, or now as far as lookups are
 *  concerned: the slabs are not found any more. To be called without the lock,
 *  in such a handler; several threads may do so at a time. Wait-free.
 *
 * @param [in] first, end  Pages. */
void ucs_arena_defer(ucs_arena_t *arena, uint32_t first, uint32_t end);

/** Free pages as soon as this thread leaves the lock. As ucs_arena_defer().
 *
 * @param [in] now  The time. */
void ucs_arena_defer_free(ucs_arena_t *arena, uint32_t first, uint32_t end,
                          ucs_arena_time_t now);

/** @return whether handlers have freed any page of a range, and that is not done yet.
 *          Wait-free. */
int ucs_arena_is_freed(const ucs_arena_t *arena, uint32_t first, uint32_t end);

/** Spoil and free what handlers have left. Without the lock, and not in such a handler. */
void ucs_arena_catch_up(ucs_arena_t *arena);

/** Pages are about to be retired. Under the lock. */
void ucs_arena_note_retired(ucs_arena_t *arena, ucs_arena_time_t now);

/** Let held pages be retired, or dark if strict. Under the lock. */
void ucs_arena_retire_held(ucs_arena_t *arena, uint32_t block,
                           ucs_arena_time_t now);

/** Make a slab spoilt, if it is not. Under the lock. */
void ucs_arena_mark_spoilt(ucs_arena_t *arena, uint32_t slab);

END_C_DECLS

#endif
