/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "dark.h"
#include "enrol.h"
#include "supply.h"
#include "trim.h"
#include "work.h"

#include <ucs/sys/math.h>


/* When there is something to do. To be called under the lock.
 * @param [in] next  When a slab is to be given back */
static ucs_arena_time_t
get_due(const ucs_arena_t *arena, ucs_arena_time_t now, ucs_arena_time_t next)
{
    const uint64_t *num = arena->blocks.num;

    if (num[UCS_ARENA_KIND_RETIRED] > 0) {
        next = ucs_min(next, arena->retired_since + arena->params.lazy);
    }
    if (num[UCS_ARENA_KIND_DARK] > 0) {
        next = ucs_min(next, ucs_max(now, arena->access.at));
    }
    if (arena->wants_enrolment) {
        next = ucs_min(next, ucs_max(now, arena->enrolling.at));
    }
    if (arena->wants_mend) {
        next = now;
    }
    if (ucs_arena_wants_slab(arena)) {
        next = ucs_min(next, ucs_max(now, arena->opening.at));
    }
    return next;
}

ucs_arena_time_t ucs_arena_tend(ucs_arena_t *arena, ucs_arena_time_t now)
{
    ucs_arena_time_t due = UCS_ARENA_NEVER;

    /* In a forked child the lock may be held for ever */
    if (atomic_load_explicit(&arena->is_off, memory_order_relaxed)) {
        return UCS_ARENA_NEVER;
    }

    ucs_mutex_lock(&arena->work);
    ucs_hook_enter();
    if (!atomic_load_explicit(&arena->is_off, memory_order_relaxed)) {
        /* Nothing that was freed is to be accessible for longer than it takes to
         * register a slab; then comes what threads wait for */
        ucs_arena_darken_retired(arena, now);
        ucs_arena_enrol(arena, now);
        ucs_arena_supply(arena, now);
        ucs_arena_wipe(arena, now);
        due = ucs_arena_trim(arena, now);

        ucs_arena_lock(arena);
        due = get_due(arena, now, due);
        atomic_store_explicit(&arena->due, due, memory_order_relaxed);
        ucs_arena_unlock(arena);
    }
    ucs_hook_leave();
    ucs_mutex_unlock(&arena->work);
    return due;
}
