/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "dark.h"
#include "work.h"

#include <ucs/sys/math.h>


/* The pages of a range that are to be freed still, and what of it was freed */
typedef struct {
    size_t           page;
    size_t           end;
    ucs_arena_time_t now;
    uint32_t         runs[UCS_ARENA_BATCH]; /* Live until now; held, if strict */
    unsigned         num_runs;
    uint32_t         plain[UCS_ARENA_BATCH]; /* Those of plain slabs; held */
    unsigned         num_plain;
    uint32_t         spoilt[UCS_ARENA_BATCH]; /* Those of spoilt slabs; held */
    unsigned         num_spoilt;
    int              is_counted; /* Whether it counts as a call */
} range_t;


/* To be called under the lock */
static int is_plain(const ucs_arena_t *arena, uint32_t slab)
{
    return (atomic_load_explicit(&arena->slabs.slabs[slab].state,
                                 memory_order_relaxed) &
            UCS_ARENA_SLAB_PLAIN) != 0;
}

/* Free the first live pages of a range, as far as they are within one slab. To
 * be called under the lock */
static void free_run(ucs_arena_t *arena, range_t *range)
{
    ucs_arena_blocks_t *blocks = &arena->blocks;
    uint32_t slab              = ucs_arena_blocks_slab(blocks, range->page);
    uint32_t first;

    first = ucs_arena_blocks_live_run(blocks, &range->page, range->end);
    if (first == range->page) {
        return;
    }

    if (blocks->usage[slab].is_spoilt) {
        ucs_arena_blocks_retire(blocks, first, range->page - first, range->now,
                                1);
        range->spoilt[range->num_spoilt++] = first;
        return;
    }

    if (is_plain(arena, slab) &&
        !atomic_load_explicit(&arena->is_kept, memory_order_relaxed)) {
        ucs_arena_blocks_retire(blocks, first, range->page - first, range->now,
                                1);
        range->plain[range->num_plain++] = first;
        return;
    }

    ucs_arena_note_retired(arena, range->now);
    ucs_arena_blocks_retire(blocks, first, range->page - first, range->now,
                            arena->params.is_strict);
    range->runs[range->num_runs++] = first;
}

/* Take held pages of spoilt slabs away at once: they may be anything that the
 * program has mapped, such as a file */
static void take_away(ucs_arena_t *arena, range_t *range)
{
    uint32_t block;
    unsigned i;

    for (i = 0; i < range->num_spoilt; ++i) {
        /* If it fails, it goes with the slab */
        block = range->spoilt[i];
        (void)arena->ops.unmap(arena->ops.arg, ucs_arena_address(arena, block),
                               ucs_arena_bytes(arena, ucs_arena_blocks_length(
                                                              &arena->blocks,
                                                              block)));
        ucs_arena_lock(arena);
        ucs_arena_blocks_drop(&arena->blocks, block);
        arena->wants_mend = 1;
        ucs_arena_wake(arena, range->now);
        ucs_arena_unlock(arena);
    }
}

/* Give held pages back to the kernel, if they are not registered, nor will be while this
 * goes on. @return whether they are blank */
static int unmap_plain(ucs_arena_t *arena, uint32_t block)
{
    void *address  = ucs_arena_address(arena, block);
    uint32_t pages = ucs_arena_blocks_length(&arena->blocks, block);
    size_t length  = ucs_arena_bytes(arena, pages);

    if (!ucs_arena_is_plain(arena, address, length) ||
        (arena->ops.discard(arena->ops.arg, address, length) != UCS_OK)) {
        return 0;
    }

    (void)ucs_arena_protect(arena, block, pages, 0);
    return 1;
}

/* What is freed of plain slabs is the kernel's at once, and inaccessible, as it would be
 * without an arena. While the helper works it is as in other slabs */
static void free_plain(ucs_arena_t *arena, range_t *range)
{
    int is_entered = (ucs_arena_enter_plain(arena) == UCS_OK);
    unsigned num   = 0;
    uint32_t block;
    int is_blank;
    unsigned i;

    for (i = 0; i < range->num_plain; ++i) {
        block    = range->plain[i];
        is_blank = is_entered && unmap_plain(arena, block);
        if (!is_blank && arena->params.is_strict) {
            range->plain[num++] = block;
            continue;
        }

        ucs_arena_lock(arena);
        if (is_blank) {
            ucs_arena_blocks_release(&arena->blocks, block,
                                     UCS_ARENA_KIND_BLANK);
        } else {
            ucs_arena_retire_held(arena, block, range->now);
        }
        ucs_arena_unlock(arena);
    }
    if (is_entered) {
        ucs_arena_leave_plain(arena);
    }

    if (num > 0) {
        ucs_arena_darken(arena, range->plain, num);
    }
}

/* Make the next live pages of a range idle, or hold them for the caller, who then has
 * them protected or taken away. To be called under the lock */
static void free_batch(ucs_arena_t *arena, range_t *range)
{
    unsigned steps;

    range->num_runs   = 0;
    range->num_plain  = 0;
    range->num_spoilt = 0;
    for (steps = 0; (steps < UCS_ARENA_BATCH) && (range->page < range->end);
         ++steps) {
        free_run(arena, range);
    }
    if (range->num_runs > 0) {
        ucs_arena_wake(arena, range->now + arena->params.lazy);
    }
    if (range->num_runs + range->num_plain + range->num_spoilt > 0) {
        arena->stats.frees += !range->is_counted;
        range->is_counted   = 1;
    }
}

/* Free some of a range. @return an error if the arena has ended */
static ucs_status_t free_some(ucs_arena_t *arena, range_t *range)
{
    ucs_arena_lock(arena);
    if (atomic_load_explicit(&arena->is_off, memory_order_relaxed)) {
        ucs_arena_unlock(arena);
        return UCS_ERR_UNSUPPORTED;
    }

    free_batch(arena, range);
    /* A handler of this thread could wait for pages that this thread holds */
    ucs_hook_enter();
    ucs_arena_unlock(arena);
    take_away(arena, range);
    if (range->num_plain > 0) {
        free_plain(arena, range);
    }

    if (arena->params.is_strict && (range->num_runs > 0)) {
        ucs_arena_darken(arena, range->runs, range->num_runs);
    }
    ucs_hook_leave();
    return UCS_OK;
}

ucs_status_t ucs_arena_free(ucs_arena_t *arena, void *start, size_t length,
                            ucs_arena_time_t now)
{
    uintptr_t first = (uintptr_t)start;
    uintptr_t end   = first + length;
    ucs_status_t status;
    range_t range;

    if (!ucs_arena_clip(arena, &first, &end)) {
        return UCS_ERR_NO_ELEM;
    }

    /* In a forked child the lock may be held for ever */
    if (ucs_unlikely(atomic_load_explicit(&arena->is_off,
                                          memory_order_relaxed))) {
        return UCS_ERR_UNSUPPORTED;
    }

    if ((first & (arena->params.page_size - 1)) != 0) {
        return UCS_ERR_INVALID_PARAM;
    }

    range.page       = ucs_arena_pages(arena, first - arena->slabs.base);
    range.end        = ucs_arena_pages(arena, end - arena->slabs.base);
    range.now        = now;
    range.is_counted = 0;
    do {
        status = free_some(arena, &range);
    } while ((status == UCS_OK) && (range.page < range.end));
    return status;
}
