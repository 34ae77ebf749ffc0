/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "gather.h"
#include "work.h"

/* After how many blocks the helper lets go of the lock for a moment, so that
 * threads that allocate do not wait for all blocks of a slab */
#define MAX_STEPS 32


/* Count a block that was looked at, and let go of the lock for a moment after
 * every MAX_STEPS of them */
static void pause_after(ucs_arena_t *arena, unsigned *steps_p)
{
    if (++*steps_p % MAX_STEPS == 0) {
        ucs_arena_unlock(arena);
        ucs_arena_lock(arena);
    }
}

void ucs_arena_scatter(ucs_arena_t *arena, uint32_t first, uint32_t end)
{
    ucs_arena_blocks_t *blocks = &arena->blocks;
    unsigned steps             = 0;
    uint32_t next;

    ucs_arena_lock(arena);
    for (; first < end; first = next) {
        next = first + ucs_arena_blocks_length(blocks, first);
        ucs_arena_blocks_release(blocks, first,
                                 ucs_arena_blocks_held_kind(blocks, first));
        pause_after(arena, &steps);
    }
    ucs_arena_unlock(arena);
}

/* The first page of the next block after one that is not the first of an idle
 * block; end, if that cannot be told. To be called under the lock */
static uint32_t next_block(const ucs_arena_blocks_t *blocks, uint32_t page,
                           uint32_t end)
{
    if (ucs_arena_bits_is_set(blocks->live, page)) {
        return ucs_arena_bits_next_clear(blocks->live, page, end);
    }
    if (ucs_arena_blocks_is_held(blocks, page)) {
        return page + ucs_arena_blocks_length(blocks, page);
    }
    return end; /* It was joined with pages before it while others had the
                   lock */
}

int ucs_arena_gather(ucs_arena_t *arena, uint32_t slab, uint32_t pages,
                     uint32_t *first_p, uint32_t *end_p)
{
    ucs_arena_blocks_t *blocks = &arena->blocks;
    uint32_t page              = slab << blocks->slab_shift;
    uint32_t end               = page + blocks->usage[slab].pages;
    uint32_t first             = page;
    unsigned steps             = 0;
    uint32_t next;

    ucs_arena_lock(arena);
    if (blocks->usage[slab].idle < pages) {
        first = page = end;
    }

    /* The first page of what follows a block that is held here stays the first
     * one of a block, or live, whoever has the lock in between */
    while ((end - first >= pages) && (page - first < pages)) {
        if (ucs_arena_blocks_idle_kind(blocks, page) != UCS_ARENA_KIND_LAST) {
            page += ucs_arena_blocks_hold(blocks, page, blocks->slab_pages);
        } else {
            next = next_block(blocks, page, end);
            ucs_arena_unlock(arena);
            ucs_arena_scatter(arena, first, page);
            ucs_arena_lock(arena);
            first = page = next;
        }
        pause_after(arena, &steps);
    }
    ucs_arena_unlock(arena);

    *first_p = first;
    *end_p   = page;
    return page - first >= pages;
}
