/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ready.h"

#include "gather.h"
#include "work.h"

#include <ucs/sys/math.h>


/* Where to go on: behind what was held last, so that what becomes clean is in
 * one block, else in the longest block. To be called under the lock */
static uint32_t pick(const ucs_arena_t *arena, ucs_arena_kind_t kind)
{
    uint32_t num_pages = arena->slabs.num << arena->blocks.slab_shift;

    return ((arena->cursor < num_pages) &&
            (ucs_arena_blocks_idle_kind(&arena->blocks, arena->cursor) ==
             kind)) ?
                   arena->cursor :
                   ucs_arena_blocks_longest(&arena->blocks, kind);
}

/* Hold a part of a block of a kind. To be called under the lock.
 * @return its first page; UCS_ARENA_NO_PAGE if there is none, or no access to
 *         it for now */
static uint32_t hold(ucs_arena_t *arena, ucs_arena_time_t now,
                     ucs_arena_kind_t kind, uint64_t pages, uint32_t *length_p)
{
    uint32_t block = UCS_ARENA_NO_PAGE;

    if ((pages > 0) && (arena->access.at <= now)) {
        block = pick(arena, kind);
    }
    if (block != UCS_ARENA_NO_PAGE) {
        *length_p = ucs_arena_blocks_hold(
                &arena->blocks, block,
                ucs_min(pages, arena->blocks.slab_pages));
        arena->cursor = block + *length_p;
    }
    return block;
}

/* Hold memory to be made clean, as much as the low-water mark asks for */
static uint32_t hold_for_low_water(ucs_arena_t *arena, ucs_arena_time_t now,
                                   ucs_arena_kind_t kind, uint32_t limit,
                                   uint32_t *length_p)
{
    uint64_t wanted = ucs_arena_pages(arena, arena->params.low_water);
    uint32_t block  = UCS_ARENA_NO_PAGE;
    uint64_t clean;

    ucs_arena_lock(arena);
    clean = ucs_arena_num_ready(arena);
    if (clean < wanted) {
        block = hold(arena, now, kind, ucs_min(wanted - clean, limit),
                     length_p);
    }
    ucs_arena_unlock(arena);
    return block;
}

/* @param [inout] limit_p  Pages of that kind that may be made clean */
static void refill(ucs_arena_t *arena, ucs_arena_time_t now,
                   ucs_arena_kind_t kind, uint32_t *limit_p)
{
    uint32_t block, length;

    while ((block = hold_for_low_water(arena, now, kind, *limit_p, &length)) !=
           UCS_ARENA_NO_PAGE) {
        *limit_p -= length;
        if (ucs_arena_make_clean(arena, block, now) != UCS_OK) {
            break;
        }
    }
}

void ucs_arena_refill(ucs_arena_t *arena, ucs_arena_time_t now,
                      uint32_t *budget_p)
{
    uint32_t limit = UINT32_MAX;
    int is_wanted;

    ucs_arena_lock(arena);
    is_wanted = ucs_arena_wants_clean(arena);
    ucs_arena_unlock(arena);
    if (!is_wanted) {
        return;
    }

    refill(arena, now, UCS_ARENA_KIND_BLANK, &limit);
    refill(arena, now, UCS_ARENA_KIND_DARK, budget_p);
}

/* Let a held block read as zero that is not accessible, and stay so */
static void wipe(ucs_arena_t *arena, uint32_t block, uint32_t length,
                 ucs_arena_time_t now)
{
    ucs_arena_kind_t kind = UCS_ARENA_KIND_DARK;
    ucs_status_t status;

    if (ucs_arena_discard(arena, block, length)) {
        ucs_arena_put_back(arena, block, UCS_ARENA_KIND_BLANK, UCS_OK, now);
        return;
    }

    status = ucs_arena_protect(arena, block, length, 1);
    if (status == UCS_OK) {
        ucs_arena_fill(arena, block, length);
        ucs_arena_protect(arena, block, length, 0);
        kind = UCS_ARENA_KIND_BLANK;
    }

    ucs_arena_put_back(arena, block, kind, status, now);
}

void ucs_arena_wipe(ucs_arena_t *arena, ucs_arena_time_t now,
                    uint32_t *budget_p)
{
    uint32_t block, length;

    for (;;) {
        ucs_arena_lock(arena);
        block = hold(arena, now, UCS_ARENA_KIND_DARK, *budget_p, &length);
        ucs_arena_unlock(arena);
        if (block == UCS_ARENA_NO_PAGE) {
            return;
        }

        *budget_p -= length;
        wipe(arena, block, length, now);
    }
}

/* Make held blocks that follow each other clean. @return whether all are */
static int make_clean(ucs_arena_t *arena, uint32_t first, uint32_t end,
                      ucs_arena_time_t now, uint32_t *budget_p)
{
    const ucs_arena_blocks_t *blocks = &arena->blocks;
    ucs_status_t status              = UCS_OK;
    uint32_t length;

    for (; (first < end) && (status == UCS_OK); first += length) {
        length     = ucs_arena_blocks_length(blocks, first);
        *budget_p -= ucs_min(*budget_p, length);
        status     = ucs_arena_make_clean(arena, first, now);
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
            return make_clean(arena, first, end, now, budget_p);
        }
    }
    return 0;
}
