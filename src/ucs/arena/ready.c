/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ready.h"

#include "gather.h"
#include "work.h"

#include <ucs/sys/math.h>


/* Hold dark memory, or a part of it. @return its first page; UCS_ARENA_NO_PAGE if there
 * is none, or no access to it for now */
static uint32_t hold_dark(ucs_arena_t *arena, ucs_arena_time_t now,
                          uint32_t pages, uint32_t *length_p)
{
    uint32_t block = UCS_ARENA_NO_PAGE;

    ucs_arena_lock(arena);
    if ((pages > 0) && (arena->access.at <= now)) {
        block = ucs_arena_blocks_longest(&arena->blocks, UCS_ARENA_KIND_DARK);
    }
    if (block != UCS_ARENA_NO_PAGE) {
        *length_p = ucs_arena_blocks_hold(
                &arena->blocks, block,
                ucs_min(pages, arena->blocks.slab_pages));
    }
    ucs_arena_unlock(arena);
    return block;
}

void ucs_arena_wipe(ucs_arena_t *arena, ucs_arena_time_t now,
                    uint32_t *budget_p)
{
    uint32_t block, length;

    while ((block = hold_dark(arena, now, *budget_p, &length)) !=
           UCS_ARENA_NO_PAGE) {
        *budget_p -= length;
        (void)ucs_arena_make_blank(arena, block, now);
    }
}

/* Make held blocks that follow each other blank. @return whether all are */
static int make_blank(ucs_arena_t *arena, uint32_t first, uint32_t end,
                      ucs_arena_time_t now, uint32_t *budget_p)
{
    const ucs_arena_blocks_t *blocks = &arena->blocks;
    ucs_status_t status              = UCS_OK;
    uint32_t length;

    for (; (first < end) && (status == UCS_OK); first += length) {
        length     = ucs_arena_blocks_length(blocks, first);
        *budget_p -= ucs_min(*budget_p, length);
        status     = ucs_arena_make_blank(arena, first, now);
    }

    ucs_arena_scatter(arena, first, end); /* What is left of them */
    return status == UCS_OK;
}

int ucs_arena_make_room(ucs_arena_t *arena, ucs_arena_time_t now,
                        uint32_t pages, uint32_t *budget_p)
{
    uint32_t slab, first, end;

    for (slab = 0; slab < arena->slabs.num_used; ++slab) {
        if (ucs_arena_slab_is_served(&arena->slabs.slabs[slab]) &&
            ucs_arena_gather(arena, slab, pages, &first, &end)) {
            return make_blank(arena, first, end, now, budget_p);
        }
    }
    return 0;
}
