/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "arena_int.h"

#include <ucs/sys/math.h>


/* Most runs of live pages that are freed under one hold of the lock */
#define BATCH 32


/* The part of a range that is still to be freed */
typedef struct {
    size_t           page;
    size_t           end;
    ucs_arena_time_t now;
    uint32_t         held[BATCH]; /* Blocks that were freed and are held */
    unsigned         num_held;
    int              has_plain;   /* Whether some of the held blocks are in
                                     plain slabs */
    int              is_counted;  /* Whether the statistics count the call
                                     already */
} range_t;


/* @return whether this thread protects or unmaps freed pages of a slab at once,
 * instead of leaving them dirty for the helper. To be called under the lock */
static int is_held(const ucs_arena_t *arena, uint32_t slab, int is_plain)
{
    return arena->params.is_strict || arena->blocks.usage[slab].is_spoilt ||
           (is_plain && !ucs_relaxed_load(&arena->is_kept));
}

/* Free the first live pages of a range, as far as they are within one slab. To
 * be called under the lock */
static void free_run(ucs_arena_t *arena, range_t *range)
{
    ucs_arena_blocks_t *blocks = &arena->blocks;
    uint32_t slab              = ucs_arena_blocks_slab(blocks, range->page);
    int is_plain               = (arena->slabs.slabs[slab].kind ==
                                  UCS_ARENA_SLAB_KIND_PLAIN);
    int holds                  = is_held(arena, slab, is_plain);
    uint32_t first;

    first = ucs_arena_blocks_live_run(blocks, &range->page, range->end);
    if (first == range->page) {
        return;
    }

    if (holds) {
        range->held[range->num_held++]  = first;
        range->has_plain               |= is_plain;
    } else {
        ucs_arena_note_dirty(arena, range->now);
    }
    ucs_arena_blocks_retire(blocks, first, range->page - first, range->now,
                            holds);
    arena->stats.frees += !range->is_counted;
    range->is_counted   = 1;
}

/* Unmap held pages of a spoilt slab at once: the program may have mapped anything there,
 * such as a file */
static void take_away(ucs_arena_t *arena, uint32_t block)
{
    uint32_t length = ucs_arena_blocks_length(&arena->blocks, block);

    /* After an error the pages stay mapped until the slab is unmapped */
    (void)arena->ops.unmap(arena->ops.arg, ucs_arena_address(arena, block),
                           ucs_arena_bytes(arena, length));
    ucs_arena_lock(arena);
    ucs_arena_blocks_drop(&arena->blocks, block);
    arena->wants_mend = 1;
    ucs_arena_wake(arena, 0);
    ucs_arena_unlock(arena);
}

/* Let a held block be dirty after all, for the helper to protect later, since
 * the helper may be about to register the slab */
static void let_be_dirty(ucs_arena_t *arena, uint32_t block,
                         ucs_arena_time_t now)
{
    ucs_arena_lock(arena);
    ucs_arena_note_dirty(arena, now);
    ucs_arena_unlock(arena);
    ucs_arena_release(arena, block, UCS_ARENA_KIND_DIRTY);
}

/* Make the held blocks idle. Freed pages of plain slabs (without a
 * registration) go back to the kernel at once and become inaccessible, as
 * without an arena, unless the helper is just working */
static void settle(ucs_arena_t *arena, const range_t *range)
{
    int is_entered = range->has_plain &&
                     (ucs_arena_enter_plain(arena) == UCS_OK);
    uint32_t block;
    int is_plain;
    unsigned i;

    for (i = 0; i < range->num_held; ++i) {
        block    = range->held[i];
        is_plain = is_entered &&
                   ucs_arena_is_plain(arena, ucs_arena_address(arena, block),
                                      1);
        if (ucs_arena_slab_is_spoilt(ucs_arena_slab_of(arena, block))) {
            take_away(arena, block);
        } else if (is_plain || arena->params.is_strict) {
            ucs_arena_conceal(arena, block, is_plain);
        } else {
            let_be_dirty(arena, block, range->now);
        }
    }
    if (is_entered) {
        ucs_arena_leave_plain(arena);
    }
}

/* Free some of a range. @return an error if the arena has ended */
static ucs_status_t free_some(ucs_arena_t *arena, range_t *range)
{
    unsigned steps;

    ucs_arena_lock(arena);
    if (ucs_arena_is_off(arena)) {
        ucs_arena_unlock(arena);
        return UCS_ERR_UNSUPPORTED;
    }

    range->num_held  = 0;
    range->has_plain = 0;
    for (steps = 0; (steps < BATCH) && (range->page < range->end); ++steps) {
        free_run(arena, range);
    }
    /* A handler of a signal that interrupted this thread could wait for ever
     * for the held pages */
    ucs_hook_enter();
    ucs_arena_unlock(arena);
    if (range->num_held > 0) {
        settle(arena, range);
    }
    ucs_hook_leave();
    return UCS_OK;
}

ucs_status_t ucs_arena_free(ucs_arena_t *arena, void *start, size_t length,
                            ucs_arena_time_t now)
{
    ucs_status_t status;
    range_t range;

    range.now        = now;
    range.is_counted = 0;
    status           = ucs_arena_range(arena, start, length, &range.page, &range.end);
    while ((status == UCS_OK) && (range.page < range.end)) {
        status = free_some(arena, &range);
    }
    return status;
}

void ucs_arena_keep(ucs_arena_t *arena)
{
    ucs_relaxed_store(&arena->is_kept, 1);
}

void ucs_arena_darken(ucs_arena_t *arena, ucs_arena_time_t now)
{
    ucs_arena_blocks_t *blocks = &arena->blocks;
    uint64_t pages;
    uint32_t block;
    int is_plain;

    ucs_arena_lock(arena);
    pages = blocks->num[UCS_ARENA_KIND_DIRTY];
    if ((pages == 0) || (now < arena->dirty_since + arena->params.lazy)) {
        ucs_arena_unlock(arena);
        return;
    }

    /* Only as many pages as are dirty now: a program that goes on freeing must
     * not keep the helper here. Pages that become dirty meanwhile were freed
     * after dirty_since */
    arena->dirty_since = now;
    while ((pages > 0) &&
           ((block = ucs_arena_fit_longest(&blocks->fit[UCS_ARENA_KIND_DIRTY])) !=
            UCS_ARENA_NO_PAGE)) {
        pages   -= ucs_min(pages, ucs_arena_blocks_hold(blocks, block,
                                                        blocks->slab_pages));
        is_plain = (ucs_arena_slab_of(arena, block)->kind ==
                    UCS_ARENA_SLAB_KIND_PLAIN);
        ucs_arena_unlock(arena);
        ucs_arena_conceal(arena, block, is_plain);
        ucs_arena_lock(arena);
    }
    ucs_arena_unlock(arena);
}
