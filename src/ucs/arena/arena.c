/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "arena_int.h"

#include <ucs/base/align.h>
#include <ucs/sys/math.h>


/* How many slabs the address range has beyond those of the limit, since a short
 * slab takes as many addresses as a long one. An arena whose first slab is a
 * 16th of the longest slab has 35 shorter slabs before the first one of full
 * length, see ucs_arena_grown(), if no request asks for a longer slab */
#define SHORT_SLABS 64

/* Where the parts of an arena are in its memory, bytes from its beginning */
typedef struct {
    size_t slabs;
    size_t usage;
    size_t live;
    size_t tags;
    size_t end;
} layout_t;


void ucs_arena_params_default(size_t slab_size, ucs_arena_params_t *params)
{
    *params = (ucs_arena_params_t){
        .slab_size  = slab_size,
        .first_slab = slab_size,
        .limit      = SIZE_MAX,
        .lazy       = UCS_ARENA_DEF_LAZY,
        .idle       = UCS_ARENA_DEF_IDLE,
        .retry      = UCS_ARENA_DEF_RETRY
    };
}

void ucs_arena_params_grow(ucs_arena_params_t *params, size_t first_slab,
                           size_t limit)
{
    params->first_slab = first_slab;
    params->limit      = limit;
    params->size       = limit + ((first_slab < params->slab_size) ?
                                          SHORT_SLABS * params->slab_size : 0);
}

static int is_multiple(size_t number, size_t unit)
{
    return (number > 0) && (number % unit == 0);
}

static int are_times_accepted(const ucs_arena_params_t *params)
{
    return (params->lazy <= UCS_ARENA_MAX_TIME) &&
           (params->idle <= UCS_ARENA_MAX_TIME) && (params->retry > 0) &&
           (params->retry <= UCS_ARENA_MAX_TIME);
}

static int is_accepted(const ucs_arena_params_t *params)
{
    return ucs_is_pow2(params->page_size) && (params->page_size >= 64) &&
           ucs_is_pow2(params->slab_size) &&
           (params->slab_size >= params->page_size) &&
           (params->slab_size / params->page_size <= UCS_ARENA_FIT_MAX) &&
           (params->slab_size <= UCS_ARENA_MAX_SLAB) &&
           ucs_is_pow2(params->first_slab) &&
           (params->first_slab >= params->page_size) &&
           (params->first_slab <= params->slab_size) &&
           (params->limit >= params->first_slab) &&
           is_multiple(params->start, params->slab_size) &&
           is_multiple(params->size, params->slab_size) &&
           (params->size / params->page_size < UINT32_MAX) &&
           (params->start + (params->size - 1) > params->start) &&
           are_times_accepted(params);
}

static layout_t get_layout(const ucs_arena_params_t *params)
{
    size_t num_slabs = params->size / params->slab_size;
    size_t num_pages = params->size / params->page_size;
    layout_t layout;

    layout.slabs = ucs_round_up(sizeof(ucs_arena_t),
                                sizeof(ucs_arena_slab_t));
    layout.usage = layout.slabs + (num_slabs * sizeof(ucs_arena_slab_t));
    layout.live  = layout.usage + (num_slabs * sizeof(ucs_arena_usage_t));
    layout.tags  = layout.live + ((num_pages + 63) / 64 * sizeof(uint64_t));
    layout.end   = layout.tags + (num_pages * sizeof(ucs_arena_tag_t));
    return layout;
}

size_t ucs_arena_memory_size(const ucs_arena_params_t *params)
{
    return is_accepted(params) ? get_layout(params).end : 0;
}

ucs_arena_t *ucs_arena_init(const ucs_arena_params_t *params,
                            const ucs_arena_ops_t *ops, void *memory)
{
    ucs_arena_t *arena = memory;
    layout_t layout;

    if (!is_accepted(params)) {
        return NULL;
    }

    layout                   = get_layout(params);
    arena->params            = *params;
    arena->ops               = *ops;
    arena->page_shift        = ucs_ilog2(params->page_size);
    arena->slabs.base        = params->start;
    arena->slabs.size        = params->size;
    arena->slabs.mask        = params->slab_size - 1;
    arena->slabs.shift       = ucs_ilog2(params->slab_size);
    arena->slabs.num         = params->size / params->slab_size;
    arena->slabs.slabs       = UCS_PTR_BYTE_OFFSET(memory, layout.slabs);
    arena->blocks.usage      = UCS_PTR_BYTE_OFFSET(memory, layout.usage);
    arena->blocks.live       = UCS_PTR_BYTE_OFFSET(memory, layout.live);
    arena->blocks.tags       = UCS_PTR_BYTE_OFFSET(memory, layout.tags);
    arena->blocks.slab_shift = arena->slabs.shift - arena->page_shift;
    arena->blocks.slab_pages = 1u << arena->blocks.slab_shift;
    atomic_init(&arena->due, UCS_ARENA_NEVER);
    arena->withheld          = UCS_ARENA_NO_PAGE;
    ucs_mutex_init(&arena->lock, UCS_RANK_ARENA, 0);
    ucs_mutex_init(&arena->work, UCS_RANK_ARENA_WORK, UCS_MUTEX_LENDS);
    return arena;
}

void ucs_arena_cleanup(ucs_arena_t *arena)
{
    ucs_mutex_destroy(&arena->work);
    ucs_mutex_destroy(&arena->lock);
}

void ucs_arena_abandon(ucs_arena_t *arena)
{
    ucs_arena_lock(arena);
    /* Before the program can unmap any memory of the arena itself: the kernel
     * may map other pages at the same addresses, of which the registration
     * knows nothing. The helper may still be registering a slab */
    ucs_arena_slabs_conceal(&arena->slabs);
    ucs_relaxed_store(&arena->is_off, 1);
    ucs_relaxed_store(&arena->due, UCS_ARENA_NEVER);
    ucs_arena_unlock(arena);
}

int ucs_arena_live(ucs_arena_t *arena, const void *start, size_t length)
{
    uintptr_t first = (uintptr_t)start;
    uintptr_t end   = first + length;
    uint32_t page, end_page;
    int is_live;

    if (!ucs_arena_slabs_clip(&arena->slabs, &first, &end) || (end - first != length)) {
        return 0;
    }

    page     = (first - arena->slabs.base) >> arena->page_shift;
    end_page = ucs_arena_pages(arena, end - arena->slabs.base);
    ucs_arena_lock(arena);
    is_live  = (ucs_arena_bits_next_clear(arena->blocks.live, page, end_page) ==
                end_page);
    ucs_arena_unlock(arena);
    return is_live;
}

/* @return when the helper has something to do next. To be called under the
 * lock.
 * @param [in] next  When a slab is to be given back */
static ucs_arena_time_t
get_due(const ucs_arena_t *arena, ucs_arena_time_t now, ucs_arena_time_t next)
{
    if (arena->blocks.num[UCS_ARENA_KIND_DIRTY] > 0) {
        next = ucs_min(next, arena->dirty_since + arena->params.lazy);
    }
    if (arena->wants_enrolment) {
        next = ucs_min(next, ucs_max(now, arena->enrol_at));
    }
    return arena->wants_mend ? now : next;
}

ucs_arena_time_t ucs_arena_tend(ucs_arena_t *arena, ucs_arena_time_t now)
{
    ucs_arena_time_t due = UCS_ARENA_NEVER;

    if (ucs_arena_is_off(arena)) {
        return UCS_ARENA_NEVER;
    }

    ucs_mutex_lock(&arena->work);
    ucs_hook_enter();
    if (!ucs_arena_is_off(arena)) {
        /* First: freed memory does not stay accessible while slabs are
         * registered, which may take long */
        ucs_arena_darken(arena, now);
        ucs_arena_enrol(arena, now);
        due = ucs_arena_trim(arena, now);

        ucs_arena_lock(arena);
        due = get_due(arena, now, due);
        ucs_relaxed_store(&arena->due, due);
        ucs_arena_unlock(arena);
    }
    ucs_hook_leave();
    ucs_mutex_unlock(&arena->work);
    return due;
}

void ucs_arena_stats_get(ucs_arena_t *arena, ucs_arena_stats_t *stats)
{
    const uint64_t *num = arena->blocks.num;

    ucs_arena_lock(arena);
    *stats            = arena->stats;
    stats->committed  = ucs_arena_slabs_committed(&arena->slabs);
    stats->registered = arena->slabs.bytes[UCS_ARENA_SLAB_KIND_REGISTERED];
    stats->live       = ucs_arena_bytes(arena, arena->blocks.num_live);
    stats->held       = ucs_arena_bytes(arena, arena->blocks.num_held);
    stats->dirty      = ucs_arena_bytes(arena, num[UCS_ARENA_KIND_DIRTY]);
    stats->muzzy      = ucs_arena_bytes(arena, num[UCS_ARENA_KIND_MUZZY]);
    stats->retained   = ucs_arena_bytes(arena, num[UCS_ARENA_KIND_RETAINED]);
    stats->fresh      = ucs_arena_bytes(arena, num[UCS_ARENA_KIND_FRESH]);
    ucs_arena_unlock(arena);

    stats->answered = ucs_relaxed_load(&arena->answered);
    stats->zeroed   = ucs_relaxed_load(&arena->zeroed);
}
