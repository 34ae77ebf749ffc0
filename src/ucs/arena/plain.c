/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "work.h"


ucs_status_t ucs_arena_enter_plain(ucs_arena_t *arena)
{
    /* This may be the helper, or the handler of a signal that has interrupted it */
    if (pthread_mutex_trylock(&arena->work) != 0) {
        return UCS_ERR_BUSY;
    }

    ++ucs_arena_in_work;
    return UCS_OK;
}

void ucs_arena_leave_plain(ucs_arena_t *arena)
{
    --ucs_arena_in_work;
    pthread_mutex_unlock(&arena->work);
}

int ucs_arena_is_plain(const ucs_arena_t *arena, const void *start,
                       size_t length)
{
    uintptr_t first = (uintptr_t)start;
    uintptr_t end   = first + length;
    size_t slab, last;

    if (!ucs_arena_clip(arena, &first, &end)) {
        return 1;
    }

    last = (end - 1 - arena->slabs.base) >> arena->slabs.shift;
    for (slab = (first - arena->slabs.base) >> arena->slabs.shift;
         (slab <= last) && arena->slabs.slabs[slab].is_plain; ++slab) {
    }
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
