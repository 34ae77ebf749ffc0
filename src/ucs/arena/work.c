/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "arena_int.h"

#include <ucs/sys/math.h>


/* A new slab is 1 / GROWTH as long as all slabs before together, so that a
 * program has little more in memory than it uses. About 20 further slabs make
 * the arena ten times as large */
#define GROWTH 8


size_t ucs_arena_grown(const ucs_arena_t *arena, size_t bytes, size_t least)
{
    size_t length = bytes / GROWTH;

    length -= length % least;
    length  = ucs_max(length, least);
    return ucs_min(length, arena->params.slab_size);
}

void ucs_arena_wake(ucs_arena_t *arena, ucs_arena_time_t when)
{
    if (when < ucs_relaxed_load(&arena->due)) {
        ucs_relaxed_store(&arena->due, when);
        arena->is_woken = 1;
    }
}

void ucs_arena_unlock(ucs_arena_t *arena)
{
    int is_woken = arena->is_woken;

    arena->is_woken = 0;
    ucs_mutex_unlock(&arena->lock);
    ucs_hook_leave();
    if (is_woken) {
        arena->ops.wake(arena->ops.arg);
    }
}

void ucs_arena_count(ucs_arena_t *arena, uint64_t *counter)
{
    ucs_arena_lock(arena);
    ++*counter;
    ucs_arena_unlock(arena);
}

ucs_status_t ucs_arena_protect(ucs_arena_t *arena, uint32_t first,
                               uint32_t length, int is_accessible)
{
    return arena->ops.protect(arena->ops.arg, ucs_arena_address(arena, first),
                              ucs_arena_bytes(arena, length), is_accessible);
}

void ucs_arena_release(ucs_arena_t *arena, uint32_t block,
                       ucs_arena_kind_t kind)
{
    ucs_arena_lock(arena);
    ucs_arena_blocks_release(&arena->blocks, block, kind);
    if (ucs_arena_slab_is_spoilt(ucs_arena_slab_of(arena, block))) {
        arena->wants_mend = 1;
        ucs_arena_wake(arena, 0);
    }
    ucs_arena_unlock(arena);
}

ucs_arena_kind_t ucs_arena_discard(ucs_arena_t *arena, uint32_t block)
{
    uint32_t length = ucs_arena_blocks_length(&arena->blocks, block);

    return (arena->ops.discard(arena->ops.arg, ucs_arena_address(arena, block),
                               ucs_arena_bytes(arena, length)) == UCS_OK) ?
                   UCS_ARENA_KIND_RETAINED :
                   UCS_ARENA_KIND_MUZZY;
}

void ucs_arena_conceal(ucs_arena_t *arena, uint32_t block, int is_plain)
{
    uint32_t length       = ucs_arena_blocks_length(&arena->blocks, block);
    ucs_arena_kind_t kind = UCS_ARENA_KIND_MUZZY;
    ucs_status_t status;

    /* First protect, then discard: a late write to a discarded page would be
     * found by the next owner of the page */
    status = ucs_arena_protect(arena, block, length, 0);
    if (is_plain) {
        kind = ucs_arena_discard(arena, block);
    }
    if (status != UCS_OK) {
        /* The kernel has refused: the memory stays accessible and counts as
         * protected, but not as zero */
        kind = UCS_ARENA_KIND_MUZZY;
        ucs_arena_count(arena, &arena->stats.failures);
    }
    ucs_arena_release(arena, block, kind);
}

void ucs_arena_note_dirty(ucs_arena_t *arena, ucs_arena_time_t now)
{
    if (arena->blocks.num[UCS_ARENA_KIND_DIRTY] == 0) {
        arena->dirty_since = now;
    }
    ucs_arena_wake(arena, now + arena->params.lazy);
}

void ucs_arena_mark_spoilt(ucs_arena_t *arena, uint32_t slab)
{
    if (!arena->blocks.usage[slab].is_spoilt) {
        ucs_arena_blocks_spoil(&arena->blocks, slab);
        ucs_arena_slab_spoil(&arena->slabs.slabs[slab]);
        ++arena->num_spoilt;
        ++arena->stats.slabs_spoilt;
    }
    arena->wants_mend = 1;
    ucs_arena_wake(arena, 0);
}

ucs_status_t ucs_arena_enter_plain(ucs_arena_t *arena)
{
    ucs_hook_enter();
    /* Try only: this thread may be the helper itself, which has the lock
     * already, such as when an operation of the arena maps memory */
    if (!ucs_mutex_trylock(&arena->work)) {
        ucs_hook_leave();
        return UCS_ERR_BUSY;
    }

    return UCS_OK;
}

void ucs_arena_leave_plain(ucs_arena_t *arena)
{
    ucs_mutex_unlock(&arena->work);
    ucs_hook_leave();
}

int ucs_arena_is_plain(ucs_arena_t *arena, const void *start, size_t length)
{
    uintptr_t first = (uintptr_t)start;
    uintptr_t end   = first + length;
    size_t slab, last;

    if (!ucs_arena_slabs_clip(&arena->slabs, &first, &end)) {
        return 1;
    }

    last = (end - 1 - arena->slabs.base) >> arena->slabs.shift;
    slab = (first - arena->slabs.base) >> arena->slabs.shift;
    ucs_arena_lock(arena);
    while ((slab <= last) && (arena->slabs.slabs[slab].kind ==
                              UCS_ARENA_SLAB_KIND_PLAIN)) {
        ++slab;
    }
    ucs_arena_unlock(arena);
    return slab > last;
}

ucs_status_t
ucs_arena_discard_live(ucs_arena_t *arena, void *start, size_t length)
{
    ucs_status_t status = ucs_arena_enter_plain(arena);

    if (status != UCS_OK) {
        return status;
    }

    status = ucs_arena_is_plain(arena, start, length) ?
                     arena->ops.discard(arena->ops.arg, start, length) :
                     UCS_ERR_UNSUPPORTED;
    ucs_arena_leave_plain(arena);
    return status;
}
