/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "supply.h"

#include "gather.h"
#include "ready.h"
#include "work.h"

#include <ucs/sys/math.h>


/* Give a vacant slab memory. @return UCS_ERR_NO_RESOURCE if there is none */
static ucs_status_t map_slab(ucs_arena_t *arena, uint32_t *slab_p)
{
    ucs_status_t status;

    ucs_arena_lock(arena);
    *slab_p       = ucs_arena_slabs_first_vacant(&arena->slabs);
    arena->moving = *slab_p;
    ucs_arena_unlock(arena);
    if (*slab_p == arena->slabs.num) {
        return UCS_ERR_NO_RESOURCE;
    }

    status = ucs_arena_slabs_map(&arena->slabs, &arena->ops, *slab_p);
    ucs_arena_moved(arena);
    return status;
}

static ucs_status_t make_slab(ucs_arena_t *arena, uint32_t *slab_p)
{
    ucs_status_t status;

    status = map_slab(arena, slab_p);
    if (status != UCS_OK) {
        return status;
    }

    status = ucs_arena_slabs_register(&arena->slabs, &arena->ops, *slab_p);
    if (status != UCS_OK) {
        ucs_arena_take_away(arena, *slab_p);
    }
    return status;
}

static int open_slab(ucs_arena_t *arena, ucs_arena_time_t now)
{
    ucs_status_t status;
    uint32_t slab;

    status = make_slab(arena, &slab);

    ucs_arena_lock(arena);
    ucs_arena_note_slabs(arena);
    if (status == UCS_OK) {
        if (!arena->blocks.usage[slab].is_spoilt) {
            ucs_arena_blocks_open(&arena->blocks, slab, now);
        }
        ucs_arena_slab_publish(&arena->slabs.slabs[slab]);
        ++arena->stats.slabs_opened;
    }
    ucs_arena_unlock(arena);
    return status == UCS_OK;
}

/* Whether a kind has a block of so many pages. To be called under the lock */
static int has(const ucs_arena_t *arena, ucs_arena_kind_t kind, uint32_t pages)
{
    return ucs_arena_blocks_find(&arena->blocks, kind, pages, 1) !=
           UCS_ARENA_NO_PAGE;
}

/* Pages that are to be found in one block, and are not; 0: none */
static uint32_t get_demand(ucs_arena_t *arena)
{
    uint32_t pages;

    ucs_arena_lock(arena);
    pages = arena->demand;
    if ((pages > 0) && (has(arena, UCS_ARENA_KIND_CLEAN, pages) ||
                        has(arena, UCS_ARENA_KIND_RETIRED, pages))) {
        pages = arena->demand = 0; /* There is room by now */
    }
    ucs_arena_unlock(arena);
    return pages;
}

/* @return whether that has not failed */
static int
supply(ucs_arena_t *arena, ucs_arena_time_t now, uint32_t *budget_p)
{
    uint32_t pages = get_demand(arena);
    int wants_slab;

    if (pages == 0) {
        ucs_arena_lock(arena);
        wants_slab = ucs_arena_wants_slab(arena);
        ucs_arena_unlock(arena);
        return !wants_slab || open_slab(arena, now);
    }

    if (!ucs_arena_make_room(arena, now, pages, budget_p) &&
        !open_slab(arena, now)) {
        return 0;
    }

    ucs_arena_lock(arena);
    if (arena->demand <= pages) {
        arena->demand = 0;
    }
    ucs_arena_unlock(arena);
    return 1;
}

void ucs_arena_supply(ucs_arena_t *arena, ucs_arena_time_t now,
                      uint32_t *budget_p)
{
    int is_ok;

    /* Only the helper writes it */
    if (arena->opening.at > now) {
        return;
    }

    is_ok = supply(arena, now, budget_p);
    ucs_arena_lock(arena);
    if (is_ok) {
        ucs_arena_worked(&arena->opening);
    } else {
        ucs_arena_failed(arena, &arena->opening, now);
    }
    ucs_arena_unlock(arena);
}
