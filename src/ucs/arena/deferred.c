/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "deferred.h"
#include "work.h"

#include <ucs/sys/math.h>

#include <sched.h>


__thread volatile int ucs_arena_in_lock
        __attribute__((tls_model("initial-exec")));
__thread volatile int ucs_arena_in_work
        __attribute__((tls_model("initial-exec")));


void ucs_arena_mark_spoilt(ucs_arena_t *arena, uint32_t slab)
{
    if (!arena->blocks.usage[slab].is_spoilt) {
        ucs_arena_blocks_spoil(&arena->blocks, slab);
        ucs_arena_slab_spoil(&arena->slabs.slabs[slab]);
        ++arena->num_spoilt;
        ++arena->stats.slabs_spoilt;
    }
}

void ucs_arena_defer(ucs_arena_t *arena, uint32_t first, uint32_t end)
{
    ucs_arena_deferred_t *deferred = &arena->deferred;
    uint32_t last                  = ucs_arena_blocks_slab(&arena->blocks,
                                                           end - 1);
    uint32_t slab                  = ucs_arena_blocks_slab(&arena->blocks,
                                                           first);
    unsigned number;

    /* No use that begins after this finds the registration of other pages */
    for (; slab <= last; ++slab) {
        ucs_arena_slab_spoil(&arena->slabs.slabs[slab]);
    }

    /* Relaxed: whoever reads the range looks at its flag */
    number = atomic_fetch_add_explicit(&deferred->num, 1,
                                       memory_order_relaxed);
    if (number < UCS_ARENA_MAX_DEFERRED) {
        deferred->first[number]    = first;
        deferred->end[number]      = end;
        deferred->is_freed[number] = 0;
        /* Release: the range is read after this */
        atomic_store_explicit(&deferred->is_set[number], 1,
                              memory_order_release);
    }
}

ucs_status_t ucs_arena_defer_free(ucs_arena_t *arena, uint32_t first,
                                  uint32_t end, ucs_arena_time_t now)
{
    ucs_arena_deferred_t *deferred = &arena->deferred;
    unsigned number;

    /* Relaxed, as above. No number is taken that there is no range for: what is
     * freed is not worth it that slabs which are spoilt become the program's */
    number = atomic_load_explicit(&deferred->num, memory_order_relaxed);
    do {
        if (number >= UCS_ARENA_MAX_DEFERRED) {
            return UCS_ERR_BUSY;
        }
    } while (!atomic_compare_exchange_weak_explicit(&deferred->num, &number,
                                                    number + 1,
                                                    memory_order_relaxed,
                                                    memory_order_relaxed));

    deferred->first[number]    = first;
    deferred->end[number]      = end;
    deferred->freed_at[number] = now;
    deferred->is_freed[number] = 1;
    /* Release: the range is read after this */
    atomic_store_explicit(&deferred->is_set[number], 1, memory_order_release);
    return UCS_OK;
}

/* Wait until nobody works at pages, unless it may be this thread: then they are
 * the program's when it lets go of them. To be called under the lock, which it
 * leaves meanwhile; handlers go on to leave their ranges */
static void wait_for(ucs_arena_t *arena, uint32_t slab, uint32_t first,
                     uint32_t end)
{
    while (!ucs_arena_in_work && (arena->withheld == UCS_ARENA_NO_PAGE) &&
           ((arena->moving == slab) ||
            ucs_arena_blocks_has_held(&arena->blocks, first, end))) {
        pthread_mutex_unlock(&arena->lock);
        sched_yield();
        pthread_mutex_lock(&arena->lock);
    }
}

/* Give pages to the program. To be called under the lock */
static void claim(ucs_arena_t *arena, uint32_t first, uint32_t end)
{
    uint32_t slab, part_end;

    for (; first < end; first = part_end) {
        slab     = ucs_arena_blocks_slab(&arena->blocks, first);
        part_end = ucs_min(end, (slab + 1) << arena->blocks.slab_shift);
        ucs_arena_mark_spoilt(arena, slab);
        wait_for(arena, slab, first, part_end);
        ucs_arena_blocks_claim(&arena->blocks, first, part_end);
    }
}

void ucs_arena_note_retired(ucs_arena_t *arena, ucs_arena_time_t now)
{
    if (arena->blocks.num[UCS_ARENA_KIND_RETIRED] == 0) {
        arena->retired_since = now;
    }
}

void ucs_arena_retire_held(ucs_arena_t *arena, uint32_t block,
                           ucs_arena_time_t now)
{
    if (arena->params.is_strict) {
        ucs_arena_blocks_release(&arena->blocks, block, UCS_ARENA_KIND_DARK);
        return;
    }

    ucs_arena_note_retired(arena, now);
    ucs_arena_blocks_release(&arena->blocks, block, UCS_ARENA_KIND_RETIRED);
    ucs_arena_wake(arena, now + arena->params.lazy);
}

/* Free pages without touching them: a handler of this thread may map something else
 * there at any time. What is dark is soon inaccessible, and what is gone goes with its
 * slab. To be called under the lock */
static void release(ucs_arena_t *arena, size_t page, size_t end,
                    ucs_arena_time_t now)
{
    ucs_arena_blocks_t *blocks = &arena->blocks;
    uint32_t first;

    while (page < end) {
        first = ucs_arena_blocks_live_run(blocks, &page, end);
        if (first == page) {
            continue;
        }

        ucs_arena_blocks_retire(blocks, first, page - first, now, 1);
        if (blocks->usage[ucs_arena_blocks_slab(blocks, first)].is_spoilt) {
            ucs_arena_blocks_drop(blocks, first);
        } else {
            ucs_arena_retire_held(arena, first, now);
        }
    }
}

/* Of a handler that has written its range, or is about to: nobody lets it wait */
static void claim_deferred(ucs_arena_t *arena, unsigned number)
{
    ucs_arena_deferred_t *deferred = &arena->deferred;

    /* Acquire: pairs with the release in ucs_arena_defer() */
    while (!atomic_load_explicit(&deferred->is_set[number],
                                 memory_order_acquire)) {
        sched_yield();
    }

    if (deferred->is_freed[number]) {
        release(arena, deferred->first[number], deferred->end[number],
                deferred->freed_at[number]);
    } else {
        claim(arena, deferred->first[number], deferred->end[number]);
    }
    /* Relaxed: the number is set to 0 after it, with release */
    atomic_store_explicit(&deferred->is_set[number], 0, memory_order_relaxed);
}

/* There were too many ranges: each slab that was spoilt is the program's as a
 * whole. To be called under the lock */
static void claim_slabs(ucs_arena_t *arena)
{
    uint32_t slab;

    for (slab = 0; slab < arena->slabs.num; ++slab) {
        if (ucs_arena_slab_is_spoilt(&arena->slabs.slabs[slab])) {
            claim(arena, slab << arena->blocks.slab_shift,
                  (slab + 1) << arena->blocks.slab_shift);
        }
    }
}

void ucs_arena_catch_up(ucs_arena_t *arena)
{
    ucs_arena_deferred_t *deferred = &arena->deferred;
    unsigned done                  = 0;
    unsigned num;

    if (!ucs_arena_lock(arena)) {
        return; /* The thread that was interrupted does it */
    }

    /* A handler may come meanwhile: then there are more. Release: who takes a
     * number anew finds its flag cleared */
    num = atomic_load_explicit(&deferred->num, memory_order_relaxed);
    do {
        for (; done < ucs_min(num, UCS_ARENA_MAX_DEFERRED); ++done) {
            claim_deferred(arena, done);
        }
        if (num > UCS_ARENA_MAX_DEFERRED) {
            claim_slabs(arena);
        }
    } while (!atomic_compare_exchange_strong_explicit(
            &deferred->num, &num, 0, memory_order_acq_rel,
            memory_order_relaxed));

    if (!atomic_load_explicit(&arena->is_off, memory_order_relaxed)) {
        arena->wants_mend = 1;
        ucs_arena_wake(arena, 0);
    }
    ucs_arena_unlock(arena);
}
