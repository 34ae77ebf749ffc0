/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_ARENA_WORK_H_
#define UCS_ARENA_WORK_H_

#include "arena.h"

#include <ucs/base/hook.h>

BEGIN_C_DECLS

/** @file work.h
 *
 * What the parts of the arena share: its lock, the numbers of pages, failures,
 * and what is done with held blocks.
 */

/** Take the lock of the arena. No handler of a signal interrupts this thread until
 *  ucs_arena_unlock(), see ucs/base/hook.h. */
static UCS_F_ALWAYS_INLINE void ucs_arena_lock(ucs_arena_t *arena)
{
    ucs_hook_enter();
    ucs_mutex_lock(&arena->lock);
}

static UCS_F_ALWAYS_INLINE void ucs_arena_unlock(ucs_arena_t *arena)
{
    ucs_mutex_unlock(&arena->lock);
    ucs_hook_leave();
}

/** @return where a page is. */
static UCS_F_ALWAYS_INLINE void *
ucs_arena_address(const ucs_arena_t *arena, uint32_t page)
{
    return (void*)(arena->slabs.base + ((uintptr_t)page << arena->page_shift));
}

/** @return how many pages have so many bytes. */
static UCS_F_ALWAYS_INLINE size_t
ucs_arena_pages(const ucs_arena_t *arena, size_t bytes)
{
    return (bytes >> arena->page_shift) +
           ((bytes & (arena->params.page_size - 1)) != 0);
}

/** @return the bytes of so many pages. */
static UCS_F_ALWAYS_INLINE size_t
ucs_arena_bytes(const ucs_arena_t *arena, uint64_t pages)
{
    return pages << arena->page_shift;
}

/** Let the helper be called at a time, or before. Under the lock. */
static UCS_F_ALWAYS_INLINE void
ucs_arena_wake(ucs_arena_t *arena, ucs_arena_time_t when)
{
    if (when < atomic_load_explicit(&arena->due, memory_order_relaxed)) {
        atomic_store_explicit(&arena->due, when, memory_order_relaxed);
        atomic_store_explicit(
                &arena->num_wakes,
                atomic_load_explicit(&arena->num_wakes, memory_order_relaxed) +
                1, memory_order_relaxed);
    }
}

/** @return pages of the slab that is opened next, unless a request takes a longer
 *          one: the more there is, the more. Under the lock. */
uint32_t ucs_arena_next_slab(const ucs_arena_t *arena);

/** @return pages of a slab where so many bytes are there: the more there are, the
 *          more.
 *  @param [in] least  At least so many bytes, of which it is a multiple. */
uint32_t ucs_arena_grown(const ucs_arena_t *arena, size_t bytes, size_t least);

/** @return whether an empty slab can be given back: besides it there is room for the
 *          longest request, and as much is free as the next slab would have. Under the
 *          lock. */
int ucs_arena_is_dispensable(const ucs_arena_t *arena, uint32_t slab);

/** @return whether a slab is to be opened: a request as long as the longest one would
 *          find no room, a slab can be opened, and memory is not short. Under the
 *          lock. */
int ucs_arena_wants_slab(const ucs_arena_t *arena);

/** Something has failed. Under the lock. */
void ucs_arena_failed(ucs_arena_t *arena, ucs_arena_backoff_t *backoff,
                      ucs_arena_time_t now);

/** Something has not failed. Under the lock. */
void ucs_arena_worked(ucs_arena_backoff_t *backoff);

/** Bring what others are told of slabs up to date. The helper, under the
 *  lock. */
void ucs_arena_note_slabs(ucs_arena_t *arena);

/** Pages are about to be retired. Under the lock. */
void ucs_arena_note_retired(ucs_arena_t *arena, ucs_arena_time_t now);

/** Let held pages be retired, or dark if strict. Under the lock. */
void ucs_arena_retire_held(ucs_arena_t *arena, uint32_t block,
                           ucs_arena_time_t now);

/** Make a slab spoilt, if it is not. Under the lock. */
void ucs_arena_mark_spoilt(ucs_arena_t *arena, uint32_t slab);

/** Memory was given to the slab that is noted as moving, or taken away. */
void ucs_arena_moved(ucs_arena_t *arena);

/** A slab is vacant, and whole. Under the lock. */
void ucs_arena_forget(ucs_arena_t *arena, uint32_t slab);

/** Take the memory of a bare slab away, unless the program has some of it; if it was
 *  spoilt, it is vacant then. The helper, without the lock.
 *  @return UCS_ERR_BUSY if the program has some; else what the
 *  operation has returned. */
ucs_status_t ucs_arena_take_away(ucs_arena_t *arena, uint32_t slab);

/** Protect held pages, or make them accessible, and count that. Without the
 *  lock. */
ucs_status_t ucs_arena_protect(ucs_arena_t *arena, uint32_t first,
                               uint32_t length, int is_accessible);

/** What is done with held pages that follow each other, see
 *  ucs_arena_each_run(). */
typedef void (*ucs_arena_run_t)(ucs_arena_t *arena, uint32_t first,
                                uint32_t length);

/** Call a function once for all held blocks that touch, also those of two
 *  slabs. Without the lock.
 *
 * @param [in] blocks  First pages; sorted when this returns. */
void ucs_arena_each_run(ucs_arena_t *arena, uint32_t *blocks, unsigned num,
                        ucs_arena_run_t func);

END_C_DECLS

#endif
