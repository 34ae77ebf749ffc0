/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "deferred.h"
#include "work.h"

#include <ucs/base/wait.h>
#include <ucs/sys/math.h>


__thread volatile int ucs_arena_in_lock
        __attribute__((tls_model("initial-exec")));
__thread volatile int ucs_arena_in_work
        __attribute__((tls_model("initial-exec")));
__thread volatile int ucs_arena_is_away
        __attribute__((tls_model("initial-exec")));


int ucs_arena_is_interrupted(void)
{
    return ucs_arena_in_lock;
}

int ucs_arena_is_at_work(void)
{
    return ucs_arena_in_lock || ucs_arena_in_work;
}

void ucs_arena_mark_spoilt(ucs_arena_t *arena, uint32_t slab)
{
    if (!arena->blocks.usage[slab].is_spoilt) {
        ucs_arena_blocks_spoil(&arena->blocks, slab);
        ucs_arena_slab_spoil(&arena->slabs.slabs[slab]);
        ++arena->num_spoilt;
        ++arena->stats.slabs_spoilt;
    }
}

/* The bits of a word that are those of a range of pages */
static uint64_t mask_of(uint32_t word, uint32_t first, uint32_t end)
{
    uint32_t page = word * 64;
    uint64_t mask = UINT64_MAX;

    if (first > page) {
        mask &= UINT64_MAX << (first - page);
    }
    if (end < page + 64) {
        mask &= UINT64_MAX >> (page + 64 - end);
    }
    return mask;
}

void ucs_arena_forget_freed(ucs_arena_t *arena, uint32_t first, uint32_t end)
{
    uint32_t word;

    if (!atomic_load_explicit(&arena->deferred.has_freed,
                              memory_order_relaxed)) {
        return;
    }

    for (word = first / 64; word <= (end - 1) / 64; ++word) {
        atomic_fetch_and_explicit(&arena->deferred.freed[word],
                                  ~mask_of(word, first, end),
                                  memory_order_relaxed);
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

    ucs_arena_forget_freed(arena, first, end);
    /* No use that begins after this finds the registration of other pages */
    for (; slab <= last; ++slab) {
        ucs_arena_slab_spoil(&arena->slabs.slabs[slab]);
    }

    /* Relaxed: whoever reads the range looks at its flag */
    number = atomic_fetch_add_explicit(&deferred->num, 1,
                                       memory_order_relaxed);
    if (number < UCS_ARENA_MAX_DEFERRED) {
        deferred->first[number] = first;
        deferred->end[number]   = end;
        /* Release: the range is read after this */
        atomic_store_explicit(&deferred->is_set[number], 1,
                              memory_order_release);
    }
}

void ucs_arena_defer_free(ucs_arena_t *arena, uint32_t first, uint32_t end,
                          ucs_arena_time_t now)
{
    ucs_arena_deferred_t *deferred = &arena->deferred;
    uint32_t word;

    if (!ucs_arena_is_away) {
        ucs_arena_is_away = 1;
        /* Relaxed: see the bits */
        atomic_fetch_add_explicit(&deferred->num_away, 1,
                                  memory_order_relaxed);
    }
    for (word = first / 64; word <= (end - 1) / 64; ++word) {
        /* Release: who reads the bits sees that this thread is away */
        atomic_fetch_or_explicit(&deferred->freed[word],
                                 mask_of(word, first, end),
                                 memory_order_release);
    }
    atomic_store_explicit(&deferred->freed_at, now, memory_order_relaxed);
    /* Release: the bits are read after this */
    atomic_store_explicit(&deferred->has_freed, 1, memory_order_release);
}

int ucs_arena_is_freed(const ucs_arena_t *arena, uint32_t first, uint32_t end)
{
    const ucs_arena_deferred_t *deferred = &arena->deferred;
    uint32_t word;

    if (!atomic_load_explicit(&deferred->has_freed, memory_order_relaxed)) {
        return 0;
    }

    for (word = first / 64; word <= (end - 1) / 64; ++word) {
        if (atomic_load_explicit(&deferred->freed[word],
                                 memory_order_relaxed) &
            mask_of(word, first, end)) {
            return 1;
        }
    }
    return 0;
}

/* Whether somebody else works at pages, which are the program's when he lets go of them:
 * not at a fork, nor where it may be this thread. To be called under the lock */
static int is_held(const ucs_arena_t *arena, uint32_t slab, uint32_t first,
                   uint32_t end)
{
    return !ucs_arena_in_work && (arena->withheld == UCS_ARENA_NO_PAGE) &&
           ((arena->moving == slab) ||
            ucs_arena_blocks_has_held(&arena->blocks, first, end));
}

/* Give pages to the program. To be called under the lock.
 * @param [in] may_wait  Whether to leave the lock until nobody works at them; handlers go
 *                       on to leave their ranges meanwhile
 * @return whether all are the program's now. If not although it may wait, another thread
 *         has claimed them meanwhile, and perhaps others after them. */
static int claim(ucs_arena_t *arena, uint32_t first, uint32_t end, int may_wait)
{
    unsigned round = arena->deferred.round;
    int is_done    = 1;
    uint32_t slab, part_end;

    for (; first < end; first = part_end) {
        slab     = ucs_arena_blocks_slab(&arena->blocks, first);
        part_end = ucs_min(end, (slab + 1) << arena->blocks.slab_shift);
        ucs_arena_mark_spoilt(arena, slab);
        while (may_wait && is_held(arena, slab, first, part_end)) {
            ucs_mutex_unlock(&arena->lock);
            ucs_give_way(&arena->work);
            ucs_mutex_lock(&arena->lock);
            if (arena->deferred.round != round) {
                return 0;
            }
        }

        if (is_held(arena, slab, first, part_end)) {
            is_done = 0;
        } else {
            ucs_arena_blocks_claim(&arena->blocks, first, part_end);
        }
    }
    return is_done;
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

/* Of a handler that has written its range, or is about to: nobody lets it wait. To be
 * called under the lock */
static int claim_deferred(ucs_arena_t *arena, unsigned number, int may_wait)
{
    ucs_arena_deferred_t *deferred = &arena->deferred;

    /* Acquire: pairs with the release in ucs_arena_defer() */
    while (!atomic_load_explicit(&deferred->is_set[number],
                                 memory_order_acquire)) {
        ucs_give_way(&arena->work);
    }

    return claim(arena, deferred->first[number], deferred->end[number],
                 may_wait);
}

static int claim_ranges(ucs_arena_t *arena, unsigned number, unsigned end,
                        int may_wait)
{
    int is_done = 1;

    for (; (number < end) && (is_done || !may_wait); ++number) {
        is_done &= claim_deferred(arena, number, may_wait);
    }
    return is_done;
}

/* There were too many ranges: each slab that was spoilt is the program's as a
 * whole. To be called under the lock */
static int claim_slabs(ucs_arena_t *arena, int may_wait)
{
    int is_done = 1;
    uint32_t slab;

    for (slab = 0; (slab < arena->slabs.num) && (is_done || !may_wait); ++slab) {
        if (ucs_arena_slab_is_spoilt(&arena->slabs.slabs[slab])) {
            is_done &= claim(arena, slab << arena->blocks.slab_shift,
                             (slab + 1) << arena->blocks.slab_shift, may_wait);
        }
    }
    return is_done;
}

/* Give the program what handlers have spoilt, or find that another thread has given some
 * of it. What nobody works at comes first: it may be
 * idle, and is not to be touched when the lock is left. To be called under the lock */
static void claim_all(ucs_arena_t *arena)
{
    ucs_arena_deferred_t *deferred = &arena->deferred;
    unsigned num, end;

    /* A handler may come meanwhile: then there are more. Release: who takes a
     * number anew finds its flag cleared */
    num = atomic_load_explicit(&deferred->num, memory_order_relaxed);
    do {
        end = ucs_min(num, UCS_ARENA_MAX_DEFERRED);
        if (!claim_ranges(arena, deferred->done, end, 0) &&
            !claim_ranges(arena, deferred->done, end, 1)) {
            return;
        }
        for (; deferred->done < end; ++deferred->done) {
            atomic_store_explicit(&deferred->is_set[deferred->done], 0,
                                  memory_order_relaxed);
        }
        ++deferred->round;
        if ((num > UCS_ARENA_MAX_DEFERRED) && !claim_slabs(arena, 0) &&
            !claim_slabs(arena, 1)) {
            return;
        }
        ++deferred->round;
    } while (!atomic_compare_exchange_strong_explicit(
            &deferred->num, &num, 0, memory_order_acq_rel,
            memory_order_relaxed));
    deferred->done = 0;
}

/* Free the pages of a word. To be called under the lock */
static void release_bits(ucs_arena_t *arena, uint32_t page, uint64_t bits)
{
    ucs_arena_time_t now = atomic_load_explicit(&arena->deferred.freed_at,
                                                memory_order_relaxed);
    uint32_t length, skip;

    for (; bits != 0; page += length) {
        skip   = __builtin_ctzl(bits);
        page  += skip;
        bits >>= skip;
        length = (bits == UINT64_MAX) ? 64 : __builtin_ctzl(~bits);
        release(arena, page, page + length, now);
        bits   = (length == 64) ? 0 : (bits >> length);
    }
}

/* Free what handlers have freed, which have returned: else they may map something else
 * there, while others go on to protect it. To be called under the lock */
static void release_freed(ucs_arena_t *arena)
{
    ucs_arena_deferred_t *deferred = &arena->deferred;
    uint32_t num_pages = arena->slabs.num_used << arena->blocks.slab_shift;
    uint32_t page;
    uint64_t bits;

    /* Acquire: the bits are read after this */
    if (!atomic_exchange_explicit(&deferred->has_freed, 0,
                                  memory_order_acquire)) {
        return;
    }

    for (page = 0; page < num_pages; page += 64) {
        /* Acquire: whose bits they are is known to be away */
        bits = atomic_load_explicit(&deferred->freed[page / 64],
                                    memory_order_acquire);
        if (bits == 0) {
            continue;
        }

        /* Relaxed: see the bits */
        if (atomic_load_explicit(&deferred->num_away,
                                 memory_order_relaxed) > 0) {
            atomic_store_explicit(&deferred->has_freed, 1,
                                  memory_order_relaxed);
            return;
        }

        /* Not those that were spoilt or freed meanwhile */
        bits &= atomic_fetch_and_explicit(&deferred->freed[page / 64], ~bits,
                                          memory_order_relaxed);
        release_bits(arena, page, bits);
    }
}

/* All handlers that have interrupted this thread in the lock have returned. Others that
 * come meanwhile find it away, or make it so again */
static void come_back(ucs_arena_t *arena)
{
    if (ucs_arena_is_away) {
        ucs_arena_is_away = 0;
        /* Release: whoever sees that this thread is back sees what its handlers have
         * done */
        atomic_fetch_sub_explicit(&arena->deferred.num_away, 1,
                                  memory_order_release);
    }
}

void ucs_arena_catch_up(ucs_arena_t *arena)
{
    if (!ucs_arena_lock(arena)) {
        return; /* The thread that was interrupted does it */
    }

    /* What a handler spoils while its bits are being read here is freed all the same,
     * and claimed again before anybody else can get it */
    do {
        come_back(arena);
        claim_all(arena);
        release_freed(arena);
    } while (ucs_arena_is_behind(arena));

    if (!atomic_load_explicit(&arena->is_off, memory_order_relaxed)) {
        arena->wants_mend = 1;
        ucs_arena_wake(arena, 0);
    }
    ucs_arena_unlock(arena);
}
