/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "work.h"

#include <ucs/sys/math.h>


/* A slab is opened for long requests when so many of them have each come after
 * such memory was unmapped. Fewer would be met by a program that goes from one
 * phase to the next */
#define MIN_ROUNDS 2


/* Count a request that is longer than the next slab. To be called under the
 * lock. @return whether it is one of many */
static int count(ucs_arena_transient_t *transient, uint32_t pages,
                 ucs_arena_time_t now, ucs_arena_time_t window)
{
    /* The clock of another processor may be a little behind */
    if (now > transient->since + window) {
        *transient = (ucs_arena_transient_t){.since = now};
    }

    transient->pages    = ucs_max(transient->pages, pages);
    transient->rounds  += transient->is_left;
    transient->is_left  = 0;
    return transient->rounds >= MIN_ROUNDS;
}

/* Take the lock, if there is an arena still */
static int enter(ucs_arena_t *arena)
{
    /* In a forked child the lock may be held for ever */
    return !atomic_load_explicit(&arena->is_off, memory_order_relaxed) &&
           ucs_arena_lock(arena);
}

void ucs_arena_missed(ucs_arena_t *arena, size_t length, ucs_arena_time_t now)
{
    size_t pages = ucs_arena_pages(arena, length);

    if ((pages > arena->blocks.slab_pages) || !enter(arena)) {
        return;
    }

    if ((pages > ucs_arena_next_slab(arena)) &&
        count(&arena->transient, pages, now, arena->params.idle)) {
        ucs_arena_demand(arena, arena->transient.pages);
    }
    ucs_arena_unlock(arena);
}

void ucs_arena_left(ucs_arena_t *arena, size_t length)
{
    /* Nearly all calls are about less */
    if ((length <= arena->params.first_slab) || !enter(arena)) {
        return;
    }

    if (ucs_arena_pages(arena, length) > ucs_arena_next_slab(arena)) {
        arena->transient.is_left = 1;
    }
    ucs_arena_unlock(arena);
}
