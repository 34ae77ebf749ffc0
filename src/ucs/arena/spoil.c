/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "arena_int.h"

#include <ucs/base/wait.h>
#include <ucs/sys/math.h>


/* @return whether this thread has to wait, since another thread works at the
 * slab or at the pages. The thread that forks does not wait: it holds free
 * pages itself, and the fork handlers of other libraries may map something
 * there. To be called under the lock */
static int must_wait(const ucs_arena_t *arena, uint32_t slab, uint32_t first,
                     uint32_t end)
{
    return (arena->slabs.slabs[slab].is_busy ||
            ucs_arena_blocks_has_held(&arena->blocks, first, end)) &&
           !(arena->is_forking && pthread_equal(arena->forker, pthread_self()));
}

/* Let pages of a slab be the program's, as soon as no other thread works at them.
 * Each turn of the loop marks the slab spoilt, since the helper may unmap the slab
 * during the wait, and then clears the mark */
static ucs_status_t spoil_slab(ucs_arena_t *arena, uint32_t slab,
                               uint32_t first, uint32_t end)
{
    for (;;) {
        ucs_arena_lock(arena);
        if (ucs_arena_is_off(arena)) {
            ucs_arena_unlock(arena);
            return UCS_ERR_UNSUPPORTED;
        }

        ucs_arena_mark_spoilt(arena, slab);
        if (!must_wait(arena, slab, first, end)) {
            break;
        }

        ucs_arena_unlock(arena);
        ucs_give_way(&arena->work);
    }

    ucs_arena_blocks_claim(&arena->blocks, first, end);
    ucs_arena_unlock(arena);
    return UCS_OK;
}

ucs_status_t ucs_arena_spoil(ucs_arena_t *arena, void *start, size_t length)
{
    size_t page, end, part_end;
    ucs_status_t status;
    uint32_t slab;

    status = ucs_arena_range(arena, start, length, &page, &end);
    for (; (status == UCS_OK) && (page < end); page = part_end) {
        slab     = ucs_arena_blocks_slab(&arena->blocks, page);
        part_end = ucs_min(end, (size_t)(slab + 1) << arena->blocks.slab_shift);
        status   = spoil_slab(arena, slab, page, part_end);
    }
    return status;
}

ucs_status_t ucs_arena_withdraw(ucs_arena_t *arena, ucs_arena_slab_t *slab)
{
    if (ucs_arena_is_off(arena)) {
        return UCS_ERR_UNSUPPORTED;
    }

    ucs_arena_lock(arena);
    ucs_arena_mark_spoilt(arena, slab - arena->slabs.slabs);
    ucs_arena_unlock(arena);
    return UCS_OK;
}

int ucs_arena_is_spoilt(const ucs_arena_t *arena, const void *start,
                        size_t length)
{
    uintptr_t first = (uintptr_t)start;
    uintptr_t end   = first + length;
    size_t slab;

    if (!ucs_arena_slabs_clip(&arena->slabs, &first, &end)) {
        return 0;
    }

    for (slab = (first - arena->slabs.base) >> arena->slabs.shift;
         slab <= (end - 1 - arena->slabs.base) >> arena->slabs.shift; ++slab) {
        if (ucs_arena_slab_is_spoilt(&arena->slabs.slabs[slab])) {
            return 1;
        }
    }
    return 0;
}
