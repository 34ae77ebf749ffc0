/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "supply.h"
#include "work.h"

#include <ucs/sys/math.h>


/* Note a request that found no room, so that the helper makes some. To be
 * called under the lock */
static void refuse(ucs_arena_t *arena)
{
    ++arena->stats.refused;
    /* Where the process forks, there is room again in a moment */
    if (arena->withheld == UCS_ARENA_NO_PAGE) {
        arena->has_shrunk = 0;
        ucs_arena_wake(arena, arena->opening.at);
    }
}

/* Find a block. What is clean or blank was filled with zeros beforehand, but is not
 * in the caches; memory that is retired is filled by this thread; what is fresh is to
 * be filled by the kernel and registered still, and is more to have in memory. To be
 * called under the lock.
 * @return its first page, or UCS_ARENA_NO_PAGE */
static uint32_t
find(ucs_arena_t *arena, uint32_t length, ucs_arena_kind_t *kind_p)
{
    static const ucs_arena_kind_t kinds[][UCS_ARENA_KIND_LAST] = {
        {UCS_ARENA_KIND_CLEAN, UCS_ARENA_KIND_BLANK, UCS_ARENA_KIND_RETIRED,
         UCS_ARENA_KIND_FRESH, UCS_ARENA_KIND_DARK},
        {UCS_ARENA_KIND_RETIRED, UCS_ARENA_KIND_CLEAN, UCS_ARENA_KIND_BLANK,
         UCS_ARENA_KIND_FRESH, UCS_ARENA_KIND_DARK}
    };
    int is_warm    = ucs_arena_bytes(arena, length) <= arena->params.warm;
    uint32_t block = UCS_ARENA_NO_PAGE;
    unsigned i;

    for (i = 0; (i < UCS_ARENA_KIND_LAST) && (block == UCS_ARENA_NO_PAGE);
         ++i) {
        *kind_p = kinds[is_warm][i];
        block   = ucs_arena_blocks_find(&arena->blocks, *kind_p, length);
    }
    return block;
}

/* Let the helper provide for the next requests. To be called under the lock */
static void look_ahead(ucs_arena_t *arena)
{
    if (ucs_arena_wants_slab(arena)) {
        ucs_arena_wake(arena, arena->opening.at);
    }
}

/* Whether pages of a kind are to be filled with zeros when they become live */
static int is_dirty(ucs_arena_kind_t kind)
{
    return (kind == UCS_ARENA_KIND_RETIRED) || (kind == UCS_ARENA_KIND_DARK);
}

/* Make the first pages of a block live. To be called under the lock */
static void make_live(ucs_arena_t *arena, uint32_t block, uint32_t length)
{
    ucs_arena_blocks_make_live(&arena->blocks, block, length);
    ++arena->stats.allocations;
    look_ahead(arena);
}

/* The kernel refuses to make pages accessible that became live just now: they become
 * free again, of the kind that they were, and the request is refused */
static void give_up(ucs_arena_t *arena, ucs_arena_kind_t kind, uint32_t first,
                    uint32_t length)
{
    ucs_arena_lock(arena);
    ucs_arena_blocks_retire(&arena->blocks, first, length, 0, 1);
    ucs_arena_blocks_release(&arena->blocks, first, kind);
    --arena->stats.allocations;
    ++arena->stats.failures;
    ucs_arena_unlock(arena);
}

/* Let live pages read as zero. Those that are not registered, nor kept, become the
 * kernel's: they may have been written to here and there only, and be so again. Without
 * the lock */
static void empty(ucs_arena_t *arena, uint32_t first, uint32_t length)
{
    void *start  = ucs_arena_address(arena, first);
    size_t bytes = ucs_arena_bytes(arena, length);

    if (!atomic_load_explicit(&arena->is_kept, memory_order_relaxed) &&
        (ucs_arena_discard_live(arena, start, bytes) == UCS_OK)) {
        return;
    }

    arena->ops.zero(arena->ops.arg, start, bytes);
    atomic_fetch_add_explicit(&arena->zeroed_callers, bytes,
                              memory_order_relaxed);
}

/* Let live pages be what new memory is: accessible, and zero. What was freed stays
 * inaccessible until then, so that whoever uses it after that is stopped, and does not
 * write to what others get. Without the lock.
 * @param [in] kind  What they were before.
 * @return an error if they cannot be: they are not live any more */
static ucs_status_t prepare(ucs_arena_t *arena, ucs_arena_kind_t kind,
                            uint32_t first, uint32_t length)
{
    ucs_status_t status = UCS_OK;

    if ((kind == UCS_ARENA_KIND_BLANK) || (kind == UCS_ARENA_KIND_DARK)) {
        status = ucs_arena_protect(arena, first, length, 1);
    }
    if (status != UCS_OK) {
        give_up(arena, kind, first, length);
    } else if (is_dirty(kind)) {
        empty(arena, first, length);
    }
    return status;
}

/* Make pages live.
 * @param [in] is_last  Whether it is noted if there is no room for them.
 * @param [out] kind_p  What the pages were before.
 * @return the first of them; UCS_ARENA_NO_PAGE if there is no room */
static uint32_t take(ucs_arena_t *arena, uint32_t length, int is_last,
                     ucs_arena_kind_t *kind_p)
{
    uint32_t first = UCS_ARENA_NO_PAGE;

    ucs_arena_lock(arena);
    if (!atomic_load_explicit(&arena->is_off, memory_order_relaxed)) {
        arena->longest = ucs_max(arena->longest, length);
        first          = find(arena, length, kind_p);
        if (first != UCS_ARENA_NO_PAGE) {
            make_live(arena, first, length);
        } else if (is_last) {
            refuse(arena);
        }
    }
    ucs_arena_unlock(arena);
    return first;
}

/* Make pages live. If no slab has room, this thread opens one for them */
static uint32_t
allocate(ucs_arena_t *arena, uint32_t length, ucs_arena_kind_t *kind_p)
{
    uint32_t first = take(arena, length, 0, kind_p);

    if (first != UCS_ARENA_NO_PAGE) {
        return first;
    }

    if (ucs_arena_enter_supply(arena, length) != UCS_OK) {
        return take(arena, length, 1, kind_p);
    }

    first = take(arena, length, 1, kind_p);
    ucs_arena_leave_plain(arena);
    return first;
}

/* Count a request for more than a slab */
static void count_too_large(ucs_arena_t *arena)
{
    ucs_arena_lock(arena);
    ++arena->stats.too_large;
    ucs_arena_unlock(arena);
}

void *ucs_arena_allocate(ucs_arena_t *arena, size_t length)
{
    size_t pages = ucs_arena_pages(arena, length);
    uint32_t first;
    ucs_arena_kind_t kind;

    /* In a forked child the lock may be held for ever */
    if (ucs_unlikely(atomic_load_explicit(&arena->is_off,
                                          memory_order_relaxed)) ||
        (length == 0)) {
        return NULL;
    }

    if (pages > arena->blocks.slab_pages) {
        count_too_large(arena);
        return NULL;
    }

    first = allocate(arena, pages, &kind);
    return ((first != UCS_ARENA_NO_PAGE) &&
            (prepare(arena, kind, first, pages) == UCS_OK)) ?
                   ucs_arena_address(arena, first) :
                   NULL;
}

/* The kind of an idle block at a page that has so many pages; UCS_ARENA_KIND_LAST if
 * there is none. To be called under the lock */
static ucs_arena_kind_t
idle_kind(const ucs_arena_blocks_t *blocks, uint32_t page, uint32_t length)
{
    ucs_arena_kind_t kind = ucs_arena_blocks_idle_kind(blocks, page);

    return ((kind != UCS_ARENA_KIND_LAST) &&
            (ucs_arena_blocks_length(blocks, page) >= length)) ?
                   kind :
                   UCS_ARENA_KIND_LAST;
}

ucs_status_t ucs_arena_extend(ucs_arena_t *arena, void *end, size_t length)
{
    uintptr_t offset  = (uintptr_t)end - arena->slabs.base;
    uint32_t pages    = ucs_arena_pages(arena, length);
    uint32_t first    = offset >> arena->page_shift;
    ucs_arena_kind_t kind = UCS_ARENA_KIND_LAST;

    /* At the beginning of a slab there is no memory of the same slab before */
    if ((offset >= arena->slabs.size) || ((offset & arena->slabs.mask) == 0) ||
        (length > arena->slabs.mask)) {
        return UCS_ERR_NO_RESOURCE;
    }

    ucs_arena_lock(arena);
    if (!atomic_load_explicit(&arena->is_off, memory_order_relaxed)) {
        kind = idle_kind(&arena->blocks, first, pages);
    }
    if (kind != UCS_ARENA_KIND_LAST) {
        make_live(arena, first, pages);
    }
    ucs_arena_unlock(arena);

    return ((kind == UCS_ARENA_KIND_LAST) ||
            (prepare(arena, kind, first, pages) != UCS_OK)) ?
                   UCS_ERR_NO_RESOURCE :
                   UCS_OK;
}
