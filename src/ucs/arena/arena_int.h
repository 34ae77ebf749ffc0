/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_ARENA_ARENA_INT_H_
#define UCS_ARENA_ARENA_INT_H_

#include "arena.h"

#include <ucs/base/hook.h>

BEGIN_C_DECLS

/** @file arena_int.h
 *
 * The part of the arena that its own files share.
 */

/** Take the lock of the arena. No handler of a signal interrupts this thread until
 *  ucs_arena_unlock(), see ucs/base/hook.h. */
static UCS_F_ALWAYS_INLINE void ucs_arena_lock(ucs_arena_t *arena)
{
    ucs_hook_enter();
    ucs_mutex_lock(&arena->lock);
}

/** Release the lock, and then wake the helper if ucs_arena_wake() was called
 *  under the lock. */
void ucs_arena_unlock(ucs_arena_t *arena);

/** @return where a page is. */
static UCS_F_ALWAYS_INLINE void *
ucs_arena_address(const ucs_arena_t *arena, uint32_t page)
{
    return (void*)(arena->slabs.base + ((uintptr_t)page << arena->page_shift));
}

/** @return the number of pages for a number of bytes, rounded up. */
static UCS_F_ALWAYS_INLINE size_t
ucs_arena_pages(const ucs_arena_t *arena, size_t bytes)
{
    return (bytes >> arena->page_shift) +
           ((bytes & (arena->params.page_size - 1)) != 0);
}

/** @return the bytes of a number of pages. */
static UCS_F_ALWAYS_INLINE size_t
ucs_arena_bytes(const ucs_arena_t *arena, uint64_t pages)
{
    return pages << arena->page_shift;
}

/** @return the slab of a page. */
static UCS_F_ALWAYS_INLINE ucs_arena_slab_t *
ucs_arena_slab_of(const ucs_arena_t *arena, uint32_t page)
{
    return &arena->slabs.slabs[ucs_arena_blocks_slab(&arena->blocks, page)];
}

/** @return whether the arena has ended, or the process is a forked child, in
 *  which nobody may take the lock: a thread that only the parent has may have
 *  held the lock at the fork. */
static UCS_F_ALWAYS_INLINE int ucs_arena_is_off(const ucs_arena_t *arena)
{
    return ucs_relaxed_load(&arena->is_off);
}

/** Find the pages of a range that begins with a page, as far as the range is in the arena.
 *  @return UCS_OK, or another status as ucs_arena_free(). */
static UCS_F_ALWAYS_INLINE ucs_status_t
ucs_arena_range(const ucs_arena_t *arena, const void *start, size_t length,
                size_t *page_p, size_t *end_p)
{
    uintptr_t first = (uintptr_t)start;
    uintptr_t end   = first + length;

    if (!ucs_arena_slabs_clip(&arena->slabs, &first, &end)) {
        return UCS_ERR_NO_ELEM;
    }

    if (ucs_unlikely(ucs_arena_is_off(arena))) {
        return UCS_ERR_UNSUPPORTED;
    }

    if ((first & (arena->params.page_size - 1)) != 0) {
        return UCS_ERR_INVALID_PARAM;
    }

    *page_p = ucs_arena_pages(arena, first - arena->slabs.base);
    *end_p  = ucs_arena_pages(arena, end - arena->slabs.base);
    return UCS_OK;
}

/** Let the helper be called at this time at the latest. Under the lock. */
void ucs_arena_wake(ucs_arena_t *arena, ucs_arena_time_t when);

/** @return the length of one more slab, or of one more registration, bytes: an
 *          eighth of @a bytes, the length of all others together, rounded down to a
 *          multiple of @a least; at least @a least, and at most the longest slab. */
size_t ucs_arena_grown(const ucs_arena_t *arena, size_t bytes, size_t least);

/** Add 1 to a counter of the statistics. Takes the lock. */
void ucs_arena_count(ucs_arena_t *arena, uint64_t *counter);

/** Protect held pages, or make held or live pages accessible. Without the lock. */
ucs_status_t ucs_arena_protect(ucs_arena_t *arena, uint32_t first,
                               uint32_t length, int is_accessible);

/** Make a held block idle, of a new kind or of its former one. Takes the lock. */
void ucs_arena_release(ucs_arena_t *arena, uint32_t block,
                       ucs_arena_kind_t kind);

/** Give the pages of a held block of a plain slab back to the kernel. Without
 *  the lock. @return the new kind of the block. */
ucs_arena_kind_t ucs_arena_discard(ucs_arena_t *arena, uint32_t block);

/** Protect a held block, and make the block idle. Pages of a plain slab go back to the
 *  kernel. Without the lock.
 *
 * @param [in] is_plain  Whether the slab is plain, and nobody registers it
 *                       meanwhile. */
void ucs_arena_conceal(ucs_arena_t *arena, uint32_t block, int is_plain);

/** Note that pages are about to be dirty. Under the lock. */
void ucs_arena_note_dirty(ucs_arena_t *arena, ucs_arena_time_t now);

/** Make a slab spoilt, and let the helper look at the slab. Under the lock. */
void ucs_arena_mark_spoilt(ucs_arena_t *arena, uint32_t slab);

/*
 * The helper calls the functions below. It has its own lock, and not the lock
 * of the arena
 */

/** Protect all dirty pages, if the lazy time has passed for some. */
void ucs_arena_darken(ucs_arena_t *arena, ucs_arena_time_t now);

/** Register the plain slabs whose registration uses have asked for. After a
 *  failure a use may ask again, and the helper tries again after a while. */
void ucs_arena_enrol(ucs_arena_t *arena, ucs_arena_time_t now);

/** Deregister a slab that nobody finds any more (ucs_arena_slab_hide()). @return
 *  UCS_OK: the slab is plain now; an error of dereg(): the slab is still
 *  registered. */
ucs_status_t ucs_arena_deregister(ucs_arena_t *arena, uint32_t slab);

/** Deregister a slab and let it be plain, unless its registration is in use.
 *  @return whether the slab is plain. */
int ucs_arena_lay_off_slab(ucs_arena_t *arena, uint32_t slab);

/** Give back slabs that were empty for the idle time, and spoilt slabs without memory of
 *  the program. @return when to call the function again. */
ucs_arena_time_t ucs_arena_trim(ucs_arena_t *arena, ucs_arena_time_t now);

END_C_DECLS

#endif
