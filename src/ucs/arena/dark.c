/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "dark.h"
#include "work.h"

#include <ucs/sys/math.h>


static void protect_run(ucs_arena_t *arena, uint32_t first, uint32_t length)
{
    /* If it fails, the memory stays accessible until it is used again */
    (void)ucs_arena_protect(arena, first, length, 0);
}

void ucs_arena_darken(ucs_arena_t *arena, uint32_t *blocks, unsigned num)
{
    unsigned i;

    ucs_arena_each_run(arena, blocks, num, protect_run);

    ucs_arena_lock(arena);
    for (i = 0; i < num; ++i) {
        ucs_arena_blocks_release(&arena->blocks, blocks[i],
                                 UCS_ARENA_KIND_DARK);
    }
    ucs_arena_unlock(arena);
}

/* Hold retired blocks of up to so many pages, and the rest of the last one */
static unsigned
hold_some(ucs_arena_t *arena, uint32_t *blocks, uint64_t *pages_p)
{
    unsigned num = 0;
    uint32_t block, length;

    while ((num < UCS_ARENA_BATCH) && (*pages_p > 0)) {
        block = ucs_arena_blocks_longest(&arena->blocks,
                                         UCS_ARENA_KIND_RETIRED);
        if (block == UCS_ARENA_NO_PAGE) {
            *pages_p = 0;
            break;
        }

        length        = ucs_arena_blocks_hold(&arena->blocks, block,
                                              arena->blocks.slab_pages);
        *pages_p     -= ucs_min(*pages_p, length);
        blocks[num++] = block;
    }
    return num;
}

void ucs_arena_darken_retired(ucs_arena_t *arena, ucs_arena_time_t now)
{
    uint32_t blocks[UCS_ARENA_BATCH];
    uint64_t pages;
    unsigned num;

    ucs_arena_lock(arena);
    pages = arena->blocks.num[UCS_ARENA_KIND_RETIRED];
    if ((pages == 0) || (now < arena->retired_since + arena->params.lazy)) {
        ucs_arena_unlock(arena);
        return;
    }

    /* As much as there is now: a program that goes on to free does not keep the
     * helper here. What is retired after this has been freed from now on */
    arena->retired_since = now;
    do {
        num = hold_some(arena, blocks, &pages);
        ucs_arena_unlock(arena);
        ucs_arena_darken(arena, blocks, num);
        ucs_arena_lock(arena);
    } while (pages > 0);
    ucs_arena_unlock(arena);
}

/* Hold a block of a kind. @return its first page; UCS_ARENA_NO_PAGE if there is
 * none, or no pages are left that are to be held */
static uint32_t
hold_one(ucs_arena_t *arena, ucs_arena_kind_t kind, uint64_t *pages_p)
{
    uint32_t block = UCS_ARENA_NO_PAGE;
    uint32_t length;

    ucs_arena_lock(arena);
    if (*pages_p > 0) {
        block = ucs_arena_blocks_longest(&arena->blocks, kind);
    }
    if (block != UCS_ARENA_NO_PAGE) {
        length    = ucs_arena_blocks_hold(&arena->blocks, block,
                                          arena->blocks.slab_pages);
        *pages_p -= ucs_min(*pages_p, length);
    }
    ucs_arena_unlock(arena);
    return block;
}

static void lighten(ucs_arena_t *arena, ucs_arena_kind_t kind,
                    ucs_arena_time_t now)
{
    ucs_status_t status = UCS_OK;
    uint64_t pages;
    uint32_t block;

    /* As much as there is now: threads may go on to free, if strict */
    ucs_arena_lock(arena);
    pages = arena->blocks.num[kind];
    ucs_arena_unlock(arena);

    while ((status == UCS_OK) &&
           ((block = hold_one(arena, kind, &pages)) != UCS_ARENA_NO_PAGE)) {
        status = ucs_arena_protect(arena, block,
                                   ucs_arena_blocks_length(&arena->blocks,
                                                           block), 1);
        ucs_arena_put_back(arena, block,
                           (status == UCS_OK) ? UCS_ARENA_KIND_RETIRED : kind,
                           status, now);
    }
}

void ucs_arena_lighten(ucs_arena_t *arena, ucs_arena_time_t now)
{
    ucs_arena_lock(arena);
    if (arena->blocks.num[UCS_ARENA_KIND_RETIRED] == 0) {
        arena->retired_since = now;
    }
    ucs_arena_unlock(arena);

    /* Blank memory, too: if it was clean then, it would stay accessible */
    lighten(arena, UCS_ARENA_KIND_DARK, now);
    lighten(arena, UCS_ARENA_KIND_BLANK, now);

    ucs_arena_lock(arena);
    if (arena->blocks.num[UCS_ARENA_KIND_RETIRED] > 0) {
        ucs_arena_wake(arena, arena->retired_since + arena->params.lazy);
    }
    ucs_arena_unlock(arena);
}

/* Hold the first block from a page on that is dark or blank. @return its first page;
 * the end if there is none */
static uint32_t hold_next(ucs_arena_t *arena, uint32_t page, uint32_t end)
{
    ucs_arena_kind_t kind;

    ucs_arena_lock(arena);
    while ((page = ucs_arena_blocks_next_idle(&arena->blocks, page, end)) !=
           end) {
        kind = ucs_arena_blocks_idle_kind(&arena->blocks, page);
        if ((kind == UCS_ARENA_KIND_DARK) || (kind == UCS_ARENA_KIND_BLANK)) {
            ucs_arena_blocks_hold(&arena->blocks, page,
                                  arena->blocks.slab_pages);
            break;
        }
        page += ucs_arena_blocks_length(&arena->blocks, page);
    }
    ucs_arena_unlock(arena);
    return page;
}

uint32_t ucs_arena_unveil(ucs_arena_t *arena, uint32_t slab)
{
    uint32_t page  = slab << arena->blocks.slab_shift;
    uint32_t end   = page + arena->blocks.usage[slab].pages;
    uint32_t chain = UCS_ARENA_NO_PAGE;
    uint32_t length;

    while ((page = hold_next(arena, page, end)) != end) {
        length = ucs_arena_blocks_length(&arena->blocks, page);
        ucs_arena_blocks_chain(&arena->blocks, page, chain);
        chain  = page;
        /* If it fails, so will the registration */
        (void)ucs_arena_protect(arena, page, length, 1);
        page += length;
    }
    return chain;
}

void ucs_arena_veil(ucs_arena_t *arena, uint32_t chain)
{
    uint32_t block;

    while (chain != UCS_ARENA_NO_PAGE) {
        block = chain;
        chain = ucs_arena_blocks_next(&arena->blocks, block);
        (void)ucs_arena_protect(arena, block,
                                ucs_arena_blocks_length(&arena->blocks, block),
                                0);
        /* A program may have written to it, though it has nothing there */
        ucs_arena_lock(arena);
        ucs_arena_blocks_release(&arena->blocks, block, UCS_ARENA_KIND_DARK);
        ucs_arena_unlock(arena);
    }
}
