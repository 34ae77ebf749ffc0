/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "dark.h"
#include "work.h"

/*
 * Free memory at a fork. The kernel copies pinned pages for the child one by
 * one, which takes some microseconds for each, while the child can do nothing
 * with memory that the program does not have. So what is free is held, and is
 * kept from the child. For a block of some pages, a call of the kernel costs
 * less than copying these.
 */

/* Shorter blocks are left to be copied, pages. Two calls of the kernel, which
 * split a mapping in two and join it again, take about as long as copying a
 * page or two */
#define MIN_PAGES 16


/* Hold free blocks that are worth it, and chain them. To be called under the
 * lock.
 * @return how many; fewer than UCS_ARENA_BATCH if there are no more */
static unsigned hold_some(ucs_arena_t *arena, uint32_t *held)
{
    ucs_arena_blocks_t *blocks = &arena->blocks;
    unsigned num               = 0;
    ucs_arena_kind_t kind;
    uint32_t block;

    for (kind = 0; kind < UCS_ARENA_KIND_LAST; ++kind) {
        while ((num < UCS_ARENA_BATCH) &&
               ((block = ucs_arena_blocks_longest(blocks, kind)) !=
                UCS_ARENA_NO_PAGE) &&
               (ucs_arena_blocks_length(blocks, block) >= MIN_PAGES)) {
            ucs_arena_blocks_hold(blocks, block, blocks->slab_pages);
            ucs_arena_blocks_chain(blocks, block, arena->withheld);
            arena->withheld = block;
            held[num++]     = block;
        }
    }
    return num;
}

static void withhold(ucs_arena_t *arena, uint32_t first, uint32_t length)
{
    /* If it fails, the child has a copy */
    (void)arena->ops.inherit(arena->ops.arg, ucs_arena_address(arena, first),
                             ucs_arena_bytes(arena, length), 0);
}

void ucs_arena_before_fork(ucs_arena_t *arena)
{
    uint32_t held[UCS_ARENA_BATCH];
    unsigned num;

    do {
        ucs_arena_lock(arena);
        arena->is_forking = 1;
        arena->forker     = pthread_self();
        if (arena->withheld == UCS_ARENA_NO_PAGE) {
            arena->withheld_since = arena->retired_since;
        }
        num = atomic_load_explicit(&arena->is_off, memory_order_relaxed) ?
                      0 :
                      hold_some(arena, held);
        ucs_arena_unlock(arena);
        ucs_arena_each_run(arena, held, num, withhold);
    } while (num == UCS_ARENA_BATCH);
}

/* Have memory inherited as before. Where the kernel refuses that, it is not
 * allocated any more: a later child would lack what the program has there */
static void give_back(ucs_arena_t *arena, uint32_t first, uint32_t length)
{
    uint32_t slab = ucs_arena_blocks_slab(&arena->blocks, first);
    uint32_t last = ucs_arena_blocks_slab(&arena->blocks, first + length - 1);

    if (arena->ops.inherit(arena->ops.arg, ucs_arena_address(arena, first),
                           ucs_arena_bytes(arena, length), 1) == UCS_OK) {
        return;
    }

    for (; slab <= last; ++slab) {
        (void)ucs_arena_withdraw(arena, &arena->slabs.slabs[slab]);
    }
}

/* Take blocks off the chain, which stay held. @return how many */
static unsigned unchain_some(ucs_arena_t *arena, uint32_t *held)
{
    unsigned num = 0;

    while ((num < UCS_ARENA_BATCH) && (arena->withheld != UCS_ARENA_NO_PAGE)) {
        held[num++]     = arena->withheld;
        arena->withheld = ucs_arena_blocks_next(&arena->blocks,
                                                arena->withheld);
    }
    return num;
}

/* Make a held block idle as it was. To be called under the lock */
static void release(ucs_arena_t *arena, uint32_t block)
{
    ucs_arena_blocks_t *blocks = &arena->blocks;
    ucs_arena_kind_t kind      = ucs_arena_blocks_held_kind(blocks, block);

    /* Others may have been freed meanwhile, when there were none */
    if ((kind == UCS_ARENA_KIND_RETIRED) &&
        ((blocks->num[kind] == 0) ||
         (arena->withheld_since < arena->retired_since))) {
        arena->retired_since = arena->withheld_since;
    }
    ucs_arena_blocks_release(blocks, block, kind);
}

void ucs_arena_after_fork(ucs_arena_t *arena)
{
    uint32_t held[UCS_ARENA_BATCH];
    unsigned num, i;

    do {
        ucs_arena_lock(arena);
        num = unchain_some(arena, held);
        ucs_arena_unlock(arena);
        ucs_arena_each_run(arena, held, num, give_back);

        ucs_arena_lock(arena);
        for (i = 0; i < num; ++i) {
            release(arena, held[i]);
        }
        if (num > 0) {
            ucs_arena_wake(arena, 0); /* It may not have seen them meanwhile */
        }
        arena->is_forking = (num > 0);
        ucs_arena_unlock(arena);
    } while (num > 0);
}
