/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "arena_int.h"

/*
 * Free memory at a fork. The kernel copies each pinned page for the child,
 * which takes some microseconds a page, although the child can do nothing with
 * free memory of the arena. So the thread that forks holds the free blocks, and
 * tells the kernel that the child does not inherit them. For a block of several
 * pages this call costs less than the copies.
 */

/* The least length of a block that a fork holds, pages: the kernel may copy shorter
 * blocks. The two calls for a block, before and after the fork, split a mapping and
 * join it again, and take about as long as copying a page or two */
#define MIN_PAGES 16


/* Hold a free block of enough pages, and chain the block. To be called under the lock.
 * @return the first page; UCS_ARENA_NO_PAGE: there is none */
static uint32_t hold_one(ucs_arena_t *arena)
{
    ucs_arena_blocks_t *blocks = &arena->blocks;
    ucs_arena_kind_t kind;
    uint32_t block;

    for (kind = 0; kind < UCS_ARENA_KIND_LAST; ++kind) {
        block = ucs_arena_fit_longest(&blocks->fit[kind]);
        if ((block != UCS_ARENA_NO_PAGE) &&
            (ucs_arena_blocks_length(blocks, block) >= MIN_PAGES)) {
            ucs_arena_blocks_hold(blocks, block, blocks->slab_pages);
            ucs_arena_blocks_chain(blocks, block, arena->withheld);
            arena->withheld = block;
            return block;
        }
    }
    return UCS_ARENA_NO_PAGE;
}

static ucs_status_t
inherit(ucs_arena_t *arena, uint32_t block, int is_inherited)
{
    uint32_t length = ucs_arena_blocks_length(&arena->blocks, block);

    return arena->ops.inherit(arena->ops.arg, ucs_arena_address(arena, block),
                              ucs_arena_bytes(arena, length), is_inherited);
}

void ucs_arena_before_fork(ucs_arena_t *arena)
{
    uint32_t block;

    do {
        ucs_arena_lock(arena);
        arena->is_forking = 1;
        arena->forker     = pthread_self();
        /* Checked for each block: another thread may begin to end the process */
        block             = ucs_arena_is_off(arena) ? UCS_ARENA_NO_PAGE :
                                                      hold_one(arena);
        ucs_arena_unlock(arena);
        if (block != UCS_ARENA_NO_PAGE) {
            /* After an error the child has a copy */
            (void)inherit(arena, block, 0);
        }
    } while (block != UCS_ARENA_NO_PAGE);
}

/* Take a held block off the chain. If there is none left, threads can allocate
 * again.
 * @return the first page; UCS_ARENA_NO_PAGE: there is none */
static uint32_t unchain(ucs_arena_t *arena)
{
    uint32_t block;

    ucs_arena_lock(arena);
    block = arena->withheld;
    if (block != UCS_ARENA_NO_PAGE) {
        arena->withheld = ucs_arena_blocks_next(&arena->blocks, block);
    } else {
        arena->is_forking = 0;
    }
    ucs_arena_unlock(arena);
    return block;
}

void ucs_arena_after_fork(ucs_arena_t *arena)
{
    uint32_t block;

    while ((block = unchain(arena)) != UCS_ARENA_NO_PAGE) {
        /* If the kernel refuses, nobody may allocate memory of the slab any
         * more: the children of later forks would lack the data of the program
         * there */
        if (inherit(arena, block, 1) != UCS_OK) {
            (void)ucs_arena_withdraw(arena, ucs_arena_slab_of(arena, block));
        }

        ucs_arena_release(arena, block,
                          ucs_arena_blocks_held_kind(&arena->blocks, block));
        /* The pages may have been dirty for longer than the lazy time: let the
         * helper protect all dirty pages at once */
        ucs_arena_lock(arena);
        arena->dirty_since = 0;
        ucs_arena_wake(arena, 0);
        ucs_arena_unlock(arena);
    }
}
