/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "dark.h"
#include "work.h"

#include <ucs/sys/math.h>


/* Give the memory of held pages of a plain slab back to the kernel: they read as zero.
 * @return whether that was done */
static int discard(ucs_arena_t *arena, uint32_t first, uint32_t length)
{
    uint32_t slab = ucs_arena_blocks_slab(&arena->blocks, first);

    return arena->slabs.slabs[slab].is_plain &&
           (arena->ops.discard(arena->ops.arg, ucs_arena_address(arena, first),
                               ucs_arena_bytes(arena, length)) == UCS_OK);
}

/* Fill held pages that are accessible with zeros */
static void fill(ucs_arena_t *arena, uint32_t first, uint32_t length)
{
    arena->ops.zero(arena->ops.arg, ucs_arena_address(arena, first),
                    ucs_arena_bytes(arena, length));

    ucs_arena_lock(arena);
    arena->stats.zeroed_helper += ucs_arena_bytes(arena, length);
    ucs_arena_unlock(arena);
}

/* Make a held block idle after it was tried to make it accessible.
 * @param [in] status  Whether that has worked */
static void put_back(ucs_arena_t *arena, uint32_t block, ucs_arena_kind_t kind,
                     ucs_status_t status, ucs_arena_time_t now)
{
    ucs_arena_lock(arena);
    ucs_arena_blocks_release(&arena->blocks, block, kind);
    if (status == UCS_OK) {
        ucs_arena_worked(&arena->access);
    } else {
        ucs_arena_failed(arena, &arena->access, now);
    }
    ucs_arena_unlock(arena);
}

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

/* Let a held block that is dark be blank, if it can be made accessible */
static void wipe(ucs_arena_t *arena, uint32_t block, uint32_t length,
                 ucs_arena_time_t now)
{
    ucs_status_t status = UCS_OK;

    if (!discard(arena, block, length)) {
        status = ucs_arena_protect(arena, block, length, 1);
        if (status == UCS_OK) {
            fill(arena, block, length);
            /* What cannot be protected stays accessible until the arena gives it to
             * the program */
            (void)ucs_arena_protect(arena, block, length, 0);
        }
    }
    put_back(arena, block,
             (status == UCS_OK) ? UCS_ARENA_KIND_BLANK : UCS_ARENA_KIND_DARK,
             status, now);
}

void ucs_arena_wipe(ucs_arena_t *arena, ucs_arena_time_t now)
{
    uint32_t budget = ucs_min(ucs_arena_pages(arena, arena->params.zero_budget),
                              UINT32_MAX);
    uint32_t block, length;

    while ((block = hold_dark(arena, now, budget, &length)) !=
           UCS_ARENA_NO_PAGE) {
        budget -= length;
        wipe(arena, block, length, now);
    }
}

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
