/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "work.h"

#include <ucs/sys/math.h>


/* The time to the next attempt is at most so many times the first one */
#define MAX_BACKOFF 64

/* A slab is at most so large a part of what there is already, so that a program
 * has little more in memory than it uses. Each slab is an eighth more, so 18 of
 * them make the arena ten times as large */
#define GROWTH 8


uint32_t ucs_arena_grown(const ucs_arena_t *arena, size_t bytes, size_t least)
{
    size_t length = bytes / GROWTH;

    length -= length % least;
    length  = ucs_max(length, least);
    return ucs_arena_pages(arena, ucs_min(length, arena->params.slab_size));
}

/* The pages of the slab that is opened when so many bytes have memory */
static uint32_t next_slab(const ucs_arena_t *arena, size_t committed)
{
    return ucs_arena_grown(arena, committed, arena->params.first_slab);
}

uint32_t ucs_arena_next_slab(const ucs_arena_t *arena)
{
    return next_slab(arena, arena->stats.committed);
}

int ucs_arena_is_dispensable(const ucs_arena_t *arena, uint32_t slab)
{
    uint32_t pages   = arena->blocks.usage[slab].pages;
    uint64_t left    = ucs_arena_blocks_num_free(&arena->blocks) - pages;
    size_t committed = arena->stats.committed - ucs_arena_bytes(arena, pages);

    /* What was registered is so again when it is used */
    if (arena->slabs.slabs[slab].is_registered) {
        return 1;
    }

    /* See ucs_arena_wants_slab() */
    if ((pages >= arena->longest) && (arena->blocks.num_empty <= 2)) {
        return 0;
    }

    return left >= next_slab(arena, committed);
}

static int has_room(const ucs_arena_t *arena, uint32_t pages)
{
    ucs_arena_kind_t kind;

    for (kind = 0; kind < UCS_ARENA_KIND_LAST; ++kind) {
        if (ucs_arena_blocks_find(&arena->blocks, kind, pages) !=
            UCS_ARENA_NO_PAGE) {
            return 1;
        }
    }
    return 0;
}

int ucs_arena_wants_slab(const ucs_arena_t *arena)
{
    /* A plain slab costs addresses: one more request like the longest one is to find
     * room, since the helper may have no time then */
    return arena->has_vacant && !arena->has_shrunk &&
           !has_room(arena, ucs_max(arena->longest, 1));
}

void ucs_arena_failed(ucs_arena_t *arena, ucs_arena_backoff_t *backoff,
                      ucs_arena_time_t now)
{
    ucs_arena_time_t step = (backoff->step == 0) ? arena->params.retry :
                                                   backoff->step;

    backoff->at   = now + step;
    backoff->step = ucs_min(2 * step, MAX_BACKOFF * arena->params.retry);
    ++arena->stats.failures;
}

void ucs_arena_worked(ucs_arena_backoff_t *backoff)
{
    backoff->at   = 0;
    backoff->step = 0;
}

ucs_status_t ucs_arena_protect(ucs_arena_t *arena, uint32_t first,
                               uint32_t length, int is_accessible)
{
    ucs_status_t status;

    status = arena->ops.protect(arena->ops.arg, ucs_arena_address(arena, first),
                                ucs_arena_bytes(arena, length), is_accessible);

    if ((status != UCS_OK) && !is_accessible) {
        ucs_arena_lock(arena);
        ++arena->stats.failures; /* It is not tried again */
        ucs_arena_unlock(arena);
    }
    return status;
}

static void sort(uint32_t *blocks, unsigned num)
{
    unsigned i, j;
    uint32_t block;

    for (i = 1; i < num; ++i) {
        block = blocks[i];
        for (j = i; (j > 0) && (blocks[j - 1] > block); --j) {
            blocks[j] = blocks[j - 1];
        }
        blocks[j] = block;
    }
}

void ucs_arena_each_run(ucs_arena_t *arena, uint32_t *blocks, unsigned num,
                        ucs_arena_run_t func)
{
    uint32_t first, end;
    unsigned i;

    sort(blocks, num);
    for (i = 0; i < num;) {
        first = end = blocks[i];
        for (; (i < num) && (blocks[i] == end); ++i) {
            end += ucs_arena_blocks_length(&arena->blocks, end);
        }
        func(arena, first, end - first);
    }
}

void ucs_arena_note_slabs(ucs_arena_t *arena)
{
    const ucs_arena_slabs_t *slabs = &arena->slabs;

    arena->stats.registered = slabs->bytes_registered;
    arena->stats.committed  = slabs->bytes_registered + slabs->bytes_bare +
                              slabs->bytes_plain;
    arena->has_vacant       = ucs_arena_slabs_has_vacant(slabs) &&
                              (arena->stats.committed +
                                       arena->params.first_slab <=
                               arena->params.limit);
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

void ucs_arena_moved(ucs_arena_t *arena)
{
    ucs_arena_lock(arena);
    arena->moving = UCS_ARENA_NO_SLAB;
    ucs_arena_unlock(arena);
}

void ucs_arena_forget(ucs_arena_t *arena, uint32_t slab)
{
    if (arena->blocks.usage[slab].is_spoilt) {
        ucs_arena_slab_mend(&arena->slabs.slabs[slab]);
        --arena->num_spoilt;
    }
    ucs_arena_blocks_close(&arena->blocks, slab);
}

ucs_status_t ucs_arena_take_away(ucs_arena_t *arena, uint32_t slab)
{
    ucs_status_t status;
    int is_spoilt, is_free;

    ucs_arena_lock(arena);
    is_spoilt = arena->blocks.usage[slab].is_spoilt;
    is_free   = !is_spoilt || ucs_arena_blocks_is_gone(&arena->blocks, slab);
    if (is_free) {
        arena->moving = slab;
    }
    ucs_arena_unlock(arena);
    if (!is_free) {
        return UCS_ERR_BUSY;
    }

    status = ucs_arena_slabs_clear(&arena->slabs, &arena->ops, slab);

    /* Both at once: who waits to map something there spoils it anew */
    ucs_arena_lock(arena);
    arena->moving = UCS_ARENA_NO_SLAB;
    if (is_spoilt && (status == UCS_OK)) {
        ucs_arena_forget(arena, slab);
    }
    ucs_arena_unlock(arena);
    return status;
}

ucs_status_t ucs_arena_enter_plain(ucs_arena_t *arena)
{
    ucs_hook_enter();
    /* Nobody waits here: this thread may itself be the helper, which has the lock, as
     * when an operation of the arena maps memory */
    if (!ucs_mutex_trylock(&arena->work)) {
        ucs_hook_leave();
        return UCS_ERR_BUSY;
    }

    return UCS_OK;
}

void ucs_arena_leave_plain(ucs_arena_t *arena)
{
    ucs_mutex_unlock(&arena->work);
    ucs_hook_leave();
}

int ucs_arena_is_plain(const ucs_arena_t *arena, const void *start,
                       size_t length)
{
    uintptr_t first = (uintptr_t)start;
    uintptr_t end   = first + length;
    size_t slab, last;

    if (!ucs_arena_clip(arena, &first, &end)) {
        return 1;
    }

    last = (end - 1 - arena->slabs.base) >> arena->slabs.shift;
    for (slab = (first - arena->slabs.base) >> arena->slabs.shift;
         (slab <= last) && arena->slabs.slabs[slab].is_plain; ++slab) {
    }
    return slab > last;
}

ucs_status_t
ucs_arena_discard_live(ucs_arena_t *arena, void *start, size_t length)
{
    ucs_status_t status = ucs_arena_enter_plain(arena);

    if (status != UCS_OK) {
        return status;
    }

    status = ucs_arena_is_plain(arena, start, length) ?
                     arena->ops.discard(arena->ops.arg, start, length) :
                     UCS_ERR_UNSUPPORTED;
    ucs_arena_leave_plain(arena);
    return status;
}

void ucs_arena_keep(ucs_arena_t *arena)
{
    atomic_store_explicit(&arena->is_kept, 1, memory_order_relaxed);
}
