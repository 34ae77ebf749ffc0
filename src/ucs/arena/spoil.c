/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "deferred.h"
#include "work.h"

#include <ucs/base/clock.h>
#include <ucs/base/wait.h>
#include <ucs/sys/math.h>


/* So long a handler that has interrupted its thread at work waits until others have
 * let go of memory, who would go on to change it after the handler has mapped something
 * else there: in that time, ns, the helper registers a slab */
#define PATIENCE 300000000

/* Give pages of a slab to the program, when nobody works at them. A slab that
 * was given back meanwhile is spoilt anew */
static ucs_status_t spoil_slab(ucs_arena_t *arena, uint32_t slab,
                               uint32_t first, uint32_t end)
{
    uint64_t start = 0;

    for (;;) {
        if (!ucs_arena_lock(arena)) {
            ucs_arena_defer(arena, first, end);
            return UCS_OK;
        }

        if (atomic_load_explicit(&arena->is_off, memory_order_relaxed)) {
            ucs_arena_unlock(arena);
            return UCS_ERR_UNSUPPORTED;
        }

        ucs_arena_forget_freed(arena, first, end);
        ucs_arena_mark_spoilt(arena, slab);
        if ((arena->moving != slab) &&
            !ucs_arena_blocks_has_held(&arena->blocks, first, end)) {
            break;
        }

        ucs_arena_unlock(arena);
        start = (start == 0) ? ucs_monotonic_ns() : start;
        if (ucs_arena_in_work && (ucs_monotonic_ns() - start > PATIENCE)) {
            /* It seems to be this thread that holds them, which does not go on
             * before the handler has returned */
            ucs_arena_defer(arena, first, end);
            ucs_arena_catch_up(arena);
            return UCS_OK;
        }
        ucs_give_way(&arena->work);
    }

    ucs_arena_blocks_claim(&arena->blocks, first, end);
    arena->wants_mend = 1;
    ucs_arena_wake(arena, 0);
    ucs_arena_unlock(arena);
    return UCS_OK;
}

ucs_status_t ucs_arena_spoil(ucs_arena_t *arena, void *start, size_t length)
{
    uintptr_t start_addr = (uintptr_t)start;
    uintptr_t end_addr   = start_addr + length;
    ucs_status_t status  = UCS_OK;
    uint32_t slab, page, end, part_end;

    if (!ucs_arena_clip(arena, &start_addr, &end_addr)) {
        return UCS_ERR_NO_ELEM;
    }

    /* In a forked child the lock may be held for ever */
    if (atomic_load_explicit(&arena->is_off, memory_order_relaxed)) {
        return UCS_ERR_UNSUPPORTED;
    }

    if ((start_addr & (arena->params.page_size - 1)) != 0) {
        return UCS_ERR_INVALID_PARAM;
    }

    page = ucs_arena_pages(arena, start_addr - arena->slabs.base);
    end  = ucs_arena_pages(arena, end_addr - arena->slabs.base);
    for (; (page < end) && (status == UCS_OK); page = part_end) {
        slab     = ucs_arena_blocks_slab(&arena->blocks, page);
        part_end = ucs_min(end, (slab + 1) << arena->blocks.slab_shift);
        status   = spoil_slab(arena, slab, page, part_end);
    }
    return status;
}

ucs_status_t ucs_arena_withdraw(ucs_arena_t *arena, ucs_arena_slab_t *slab)
{
    if (atomic_load_explicit(&arena->is_off, memory_order_relaxed)) {
        return UCS_ERR_UNSUPPORTED;
    }

    if (!ucs_arena_lock(arena)) {
        return UCS_ERR_BUSY;
    }

    ucs_arena_mark_spoilt(arena, slab - arena->slabs.slabs);
    arena->wants_mend = 1;
    ucs_arena_wake(arena, 0);
    ucs_arena_unlock(arena);
    return UCS_OK;
}

int ucs_arena_is_spoilt(const ucs_arena_t *arena, const void *start,
                        size_t length)
{
    uintptr_t first = (uintptr_t)start;
    uintptr_t end   = first + length;
    size_t slab;

    if (!ucs_arena_clip(arena, &first, &end)) {
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
