/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "supply.h"

#include "work.h"

#include <ucs/base/align.h>
#include <ucs/sys/math.h>


/* How long a slab is to be in which there is room for so many pages, bytes; 0:
 * there must be none. To be called under the lock */
static size_t choose_length(const ucs_arena_t *arena, uint32_t pages)
{
    size_t first = arena->params.first_slab;
    size_t room  = arena->params.limit -
                  ucs_min(arena->stats.committed, arena->params.limit);
    size_t least = ucs_round_up(ucs_arena_bytes(arena, pages),
                                            first);
    size_t next  = ucs_arena_bytes(arena, ucs_arena_next_slab(arena));

    least = ucs_max(least, first);
    next  = ucs_min(next, room - (room % first));
    return (least <= room) ? ucs_max(least, next) : 0;
}

/* Give a vacant slab memory. @return UCS_ERR_NO_RESOURCE if there is none */
static ucs_status_t
map_slab(ucs_arena_t *arena, uint32_t pages, uint32_t *slab_p)
{
    ucs_status_t status;
    size_t length;

    ucs_arena_lock(arena);
    length        = choose_length(arena, pages);
    *slab_p       = (length > 0) ? ucs_arena_slabs_first_vacant(&arena->slabs) :
                                   arena->slabs.num;
    arena->moving = *slab_p;
    ucs_arena_unlock(arena);
    if (*slab_p == arena->slabs.num) {
        return UCS_ERR_NO_RESOURCE;
    }

    status = ucs_arena_slabs_map(&arena->slabs, &arena->ops, *slab_p, length);
    ucs_arena_moved(arena);
    return status;
}

/* Open a slab that has room for so many pages. @return whether that has not
 * failed */
static int open_slab(ucs_arena_t *arena, uint32_t pages, ucs_arena_time_t now)
{
    ucs_arena_slab_t *opened;
    ucs_status_t status;
    uint32_t slab;

    status = map_slab(arena, pages, &slab);

    ucs_arena_lock(arena);
    ucs_arena_note_slabs(arena);
    if (status == UCS_OK) {
        opened = &arena->slabs.slabs[slab];
        if (!arena->blocks.usage[slab].is_spoilt) {
            ucs_arena_blocks_open(
                    &arena->blocks, slab,
                    ucs_arena_pages(arena, ucs_arena_slab_length(opened)),
                    now);
        }
        ucs_arena_slab_publish(opened);
        ++arena->stats.slabs_opened;
    }
    ucs_arena_unlock(arena);
    return status == UCS_OK;
}

ucs_status_t ucs_arena_enter_supply(ucs_arena_t *arena, uint32_t pages)
{
    ucs_status_t status = ucs_arena_enter_plain(arena);
    int forks;

    if (status != UCS_OK) {
        return status;
    }

    ucs_arena_lock(arena);
    forks = (arena->withheld != UCS_ARENA_NO_PAGE);
    ucs_arena_unlock(arena);
    /* Nobody looks when it became empty: it is not empty any more when the lock
     * of the helper is left */
    if (!forks && open_slab(arena, pages, 0)) {
        return UCS_OK;
    }

    ucs_arena_leave_plain(arena);
    return UCS_ERR_NO_RESOURCE;
}

/* Open a slab if that is wanted. @return whether that has not failed */
static int supply(ucs_arena_t *arena, ucs_arena_time_t now)
{
    int wants_slab;
    uint32_t pages;

    ucs_arena_lock(arena);
    wants_slab = ucs_arena_wants_slab(arena);
    pages      = ucs_max(arena->longest, 1);
    ucs_arena_unlock(arena);
    return !wants_slab || open_slab(arena, pages, now);
}

void ucs_arena_supply(ucs_arena_t *arena, ucs_arena_time_t now)
{
    int is_ok;

    /* Only the helper writes it */
    if (arena->opening.at > now) {
        return;
    }

    is_ok = supply(arena, now);
    ucs_arena_lock(arena);
    if (is_ok) {
        ucs_arena_worked(&arena->opening);
    } else {
        ucs_arena_failed(arena, &arena->opening, now);
    }
    ucs_arena_unlock(arena);
}
