/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "arena_access.h"

#include <ucs/arena/arena.h>
#include <ucs/arena/arena_int.h>

#include <stdlib.h>
#include <string.h>


test_arena_t *arena_make(const ucs_arena_params_t *params,
                         const ucs_arena_ops_t *ops)
{
    size_t size  = ucs_arena_memory_size(params);
    void *memory = NULL;
    ucs_arena_t *arena;

    if ((size == 0) || (posix_memalign(&memory, 64, size) != 0)) {
        return NULL;
    }

    memset(memory, 0, size);
    arena = ucs_arena_init(params, ops, memory);
    if (arena == NULL) {
        free(memory);
    }
    return arena;
}

void arena_destroy(test_arena_t *arena)
{
    ucs_arena_cleanup(arena);
    free(arena);
}

void *arena_allocate(test_arena_t *arena, size_t length)
{
    return ucs_arena_allocate(arena, length);
}

ucs_status_t arena_free(test_arena_t *arena, void *start, size_t length,
                        ucs_arena_time_t now)
{
    return ucs_arena_free(arena, start, length, now);
}

ucs_arena_time_t arena_tend(test_arena_t *arena, ucs_arena_time_t now)
{
    return ucs_arena_tend(arena, now);
}

void arena_keep(test_arena_t *arena)
{
    ucs_arena_keep(arena);
}

void arena_lay_off(test_arena_t *arena)
{
    ucs_arena_lay_off(arena);
}

int arena_want(test_arena_t *arena, const void *address, size_t length)
{
    return ucs_arena_want(arena, address, length);
}

ucs_status_t arena_extend(test_arena_t *arena, void *end, size_t length)
{
    return ucs_arena_extend(arena, end, length);
}

ucs_status_t arena_spoil(test_arena_t *arena, void *start, size_t length)
{
    return ucs_arena_spoil(arena, start, length);
}

ucs_status_t arena_withdraw(test_arena_t *arena, test_arena_slab_t *slab)
{
    return ucs_arena_withdraw(arena, slab);
}

int arena_live(test_arena_t *arena, const void *start, size_t length)
{
    return ucs_arena_live(arena, start, length);
}

void arena_abandon(test_arena_t *arena)
{
    ucs_arena_abandon(arena);
}

int arena_is_full(test_arena_t *arena)
{
    return ucs_arena_is_full(arena);
}

int arena_is_spoilt(test_arena_t *arena, const void *start, size_t length)
{
    return ucs_arena_is_spoilt(arena, start, length);
}

size_t arena_shrink(test_arena_t *arena, size_t bytes,
                    ucs_arena_time_t now)
{
    return ucs_arena_shrink(arena, bytes, now);
}

ucs_status_t arena_stop(test_arena_t *arena)
{
    return ucs_arena_stop(arena);
}

void arena_child(test_arena_t *arena)
{
    ucs_arena_child(arena);
}

void arena_before_fork(test_arena_t *arena)
{
    ucs_arena_before_fork(arena);
}

void arena_after_fork(test_arena_t *arena)
{
    ucs_arena_after_fork(arena);
}

ucs_arena_time_t arena_due(test_arena_t *arena)
{
    return ucs_arena_due(arena);
}

void arena_stats(test_arena_t *arena, ucs_arena_stats_t *stats)
{
    ucs_arena_stats_get(arena, stats);
}

void arena_count_answered(test_arena_t *arena)
{
    ucs_arena_count_answered(arena);
}

int arena_clip(test_arena_t *arena, uintptr_t *start_p, uintptr_t *end_p)
{
    return ucs_arena_slabs_clip(&arena->slabs, start_p, end_p);
}

test_arena_slab_t *
arena_find(test_arena_t *arena, const void *address, size_t length)
{
    return ucs_arena_find(arena, address, length);
}

void *arena_handle(test_arena_slab_t *slab)
{
    return slab->handle;
}

int arena_acquire(test_arena_slab_t *slab)
{
    return ucs_arena_slab_acquire(slab);
}

void arena_release(test_arena_slab_t *slab)
{
    ucs_arena_slab_release(slab);
}

ucs_status_t arena_enter_plain(test_arena_t *arena)
{
    return ucs_arena_enter_plain(arena);
}

void arena_leave_plain(test_arena_t *arena)
{
    ucs_arena_leave_plain(arena);
}

void arena_lock(test_arena_t *arena)
{
    ucs_arena_lock(arena);
}

void arena_unlock(test_arena_t *arena)
{
    ucs_arena_unlock(arena);
}
