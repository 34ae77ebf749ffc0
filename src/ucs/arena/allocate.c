/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "arena_int.h"

#include <ucs/base/align.h>
#include <ucs/sys/math.h>


/* Find an idle block with room: a dirty one first, since the processor's caches
 * may have its memory, and a fresh one last, since the process would have more
 * memory then. To be called under the lock. @return the first page of the
 * block, or UCS_ARENA_NO_PAGE */
static uint32_t
find(const ucs_arena_t *arena, uint32_t length, ucs_arena_kind_t *kind_p)
{
    uint32_t block = UCS_ARENA_NO_PAGE;
    ucs_arena_kind_t kind;

    for (kind = 0; (kind < UCS_ARENA_KIND_LAST) && (block == UCS_ARENA_NO_PAGE);
         ++kind) {
        *kind_p = kind;
        block   = ucs_arena_fit_find(&arena->blocks.fit[kind], arena->blocks.tags,
                                     length);
    }
    return block;
}

/* Make the first pages of a block live. To be called under the lock */
static void make_live(ucs_arena_t *arena, uint32_t block, uint32_t length)
{
    ucs_arena_blocks_make_live(&arena->blocks, block, length);
    ++arena->stats.allocations;
}

/* Undo an allocation, since the kernel refuses to make the live pages
 * accessible: the pages become free again, and the request is refused. Some of
 * the pages may be accessible, and a faulty program may write there, so none of
 * them counts as zero */
static void give_up(ucs_arena_t *arena, uint32_t first, uint32_t length)
{
    ucs_arena_lock(arena);
    ucs_arena_blocks_retire(&arena->blocks, first, length, 0, 1);
    ucs_arena_blocks_release(&arena->blocks, first, UCS_ARENA_KIND_MUZZY);
    --arena->stats.allocations;
    ++arena->stats.failures;
    ucs_arena_unlock(arena);
}

/* Let live pages read as zero. Without the lock. Pages of plain slabs (without a
 * registration) go back to the kernel, which gives zero pages in their place as
 * the program touches them, perhaps only a few. Pages of registered slabs are
 * filled with zeros here, and all pages are if freed memory is kept
 * (ucs_arena_keep()) */
static void empty(ucs_arena_t *arena, uint32_t first, uint32_t length)
{
    void *start  = ucs_arena_address(arena, first);
    size_t bytes = ucs_arena_bytes(arena, length);

    if (ucs_relaxed_load(&arena->is_kept) ||
        (ucs_arena_discard_live(arena, start, bytes) != UCS_OK)) {
        arena->ops.zero(arena->ops.arg, start, bytes);
        ucs_relaxed_add(&arena->zeroed, bytes);
    }
}

/* Let live pages be accessible and zero, as new memory is. Without the lock.
 * @param [in] kind  The former kind of the pages.
 * @return an error if the kernel refuses: the pages are free again */
static ucs_status_t prepare(ucs_arena_t *arena, ucs_arena_kind_t kind,
                            uint32_t first, uint32_t length)
{
    ucs_status_t status = UCS_OK;

    if ((kind == UCS_ARENA_KIND_MUZZY) || (kind == UCS_ARENA_KIND_RETAINED)) {
        status = ucs_arena_protect(arena, first, length, 1);
    }
    if (status != UCS_OK) {
        give_up(arena, first, length);
    } else if ((kind == UCS_ARENA_KIND_MUZZY) || (kind == UCS_ARENA_KIND_DIRTY)) {
        empty(arena, first, length);
    }
    return status;
}

/* Make pages live. @return the first page; UCS_ARENA_NO_PAGE if no slab has room
 * @param [out] kind_p  The former kind of the pages */
static uint32_t
take(ucs_arena_t *arena, uint32_t length, ucs_arena_kind_t *kind_p)
{
    uint32_t first = UCS_ARENA_NO_PAGE;

    ucs_arena_lock(arena);
    if (!ucs_arena_is_off(arena)) {
        first = find(arena, length, kind_p);
    }
    if (first != UCS_ARENA_NO_PAGE) {
        make_live(arena, first, length);
    }
    ucs_arena_unlock(arena);
    return first;
}

/* Choose the length of a new slab that has room for a request, bytes; 0: the
 * limit does not allow one. To be called under the lock */
static size_t choose_length(const ucs_arena_t *arena, uint32_t pages)
{
    size_t first     = arena->params.first_slab;
    size_t committed = ucs_arena_slabs_committed(&arena->slabs);
    size_t room      = arena->params.limit - committed;
    size_t least     = ucs_round_up(ucs_arena_bytes(arena, pages), first);
    size_t next      = ucs_arena_grown(arena, committed, first);

    next = ucs_min(next, room - (room % first));
    return (least <= room) ? ucs_max(least, next) : 0;
}

/* Choose a vacant slab for a request, and let the slab be plain (with memory,
 * not registered) and busy. None is chosen while the process forks, since there
 * is room again in a moment. @return the number of the slab; the number of all
 * slabs if none is chosen */
static uint32_t begin_opening(ucs_arena_t *arena, uint32_t pages)
{
    ucs_arena_slabs_t *slabs = &arena->slabs;
    uint32_t slab            = slabs->num;
    size_t length;

    ucs_arena_lock(arena);
    length = choose_length(arena, pages);
    if ((length > 0) && !arena->is_forking && !ucs_arena_is_off(arena)) {
        slab = ucs_arena_slabs_first_vacant(slabs);
    }
    if (slab < slabs->num) {
        ucs_arena_slabs_set(slabs, slab, UCS_ARENA_SLAB_KIND_PLAIN, length);
        slabs->slabs[slab].is_busy = 1;
    } else {
        ++arena->stats.refused;
    }
    ucs_arena_unlock(arena);
    return slab;
}

/* The kernel has given the chosen slab memory, or has refused the memory (@a status).
 * Let the first pages be live, unless the kernel has refused, or the program has mapped
 * something there meanwhile. @return whether the pages are live */
static int end_opening(ucs_arena_t *arena, uint32_t slab, uint32_t pages,
                       ucs_status_t status)
{
    ucs_arena_slab_t *opened = &arena->slabs.slabs[slab];
    size_t length            = ucs_arena_slab_length(opened);
    int is_open              = 0;

    ucs_arena_lock(arena);
    opened->is_busy        = 0;
    arena->is_out_of_slabs = (status != UCS_OK);
    if (status != UCS_OK) {
        ucs_arena_slabs_set(&arena->slabs, slab, UCS_ARENA_SLAB_KIND_VACANT, 0);
        ++arena->stats.failures;
        ++arena->stats.refused;
    } else if (arena->blocks.usage[slab].is_spoilt) {
        arena->wants_mend = 1;
        ucs_arena_wake(arena, 0);
    } else {
        ++arena->stats.slabs_opened;
        ucs_arena_blocks_open(&arena->blocks, slab,
                              ucs_arena_pages(arena, length), 0);
        make_live(arena, slab << arena->blocks.slab_shift, pages);
        ucs_arena_slab_publish(opened);
        is_open = 1;
    }
    ucs_arena_unlock(arena);
    return is_open;
}

/* Open a slab for a request that finds no room: one call of the kernel, as
 * without an arena. @return the first page; UCS_ARENA_NO_PAGE if no slab can be
 * opened */
static uint32_t open_slab(ucs_arena_t *arena, uint32_t pages)
{
    uint32_t first = UCS_ARENA_NO_PAGE;
    ucs_status_t status;
    uint32_t slab;

    /* A handler of a signal that interrupted this thread could wait for ever
     * for the busy slab */
    ucs_hook_enter();
    slab = begin_opening(arena, pages);
    if (slab < arena->slabs.num) {
        status = arena->ops.map(
                arena->ops.arg, ucs_arena_slabs_memory(&arena->slabs, slab),
                ucs_arena_slab_length(&arena->slabs.slabs[slab]));
        if (end_opening(arena, slab, pages, status)) {
            first = slab << arena->blocks.slab_shift;
        }
    }
    ucs_hook_leave();
    return first;
}

void *ucs_arena_allocate(ucs_arena_t *arena, size_t length)
{
    size_t pages          = ucs_arena_pages(arena, length);
    ucs_arena_kind_t kind = UCS_ARENA_KIND_FRESH;
    uint32_t first;

    if (ucs_unlikely(ucs_arena_is_off(arena)) || (length == 0)) {
        return NULL;
    }

    if (pages > arena->blocks.slab_pages) {
        ucs_arena_count(arena, &arena->stats.too_large);
        return NULL;
    }

    first = take(arena, pages, &kind);
    if (first == UCS_ARENA_NO_PAGE) {
        kind  = UCS_ARENA_KIND_FRESH;
        first = open_slab(arena, pages);
    }
    return ((first != UCS_ARENA_NO_PAGE) &&
            (prepare(arena, kind, first, pages) == UCS_OK)) ?
                   ucs_arena_address(arena, first) :
                   NULL;
}

/* @return the kind of the idle block that begins with a page and has at least
 * @a length pages; UCS_ARENA_KIND_LAST if there is no such block. To be called
 * under the lock */
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
    uintptr_t offset      = (uintptr_t)end - arena->slabs.base;
    uint32_t pages        = ucs_arena_pages(arena, length);
    uint32_t first        = offset >> arena->page_shift;
    ucs_arena_kind_t kind = UCS_ARENA_KIND_LAST;

    /* At the beginning of a slab there is no memory of the same slab before */
    if ((offset >= arena->slabs.size) || ((offset & arena->slabs.mask) == 0) ||
        (length > arena->slabs.mask)) {
        return UCS_ERR_NO_RESOURCE;
    }

    ucs_arena_lock(arena);
    if (!ucs_arena_is_off(arena)) {
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

int ucs_arena_is_full(ucs_arena_t *arena)
{
    int is_full;

    ucs_arena_lock(arena);
    is_full = arena->is_out_of_slabs || (choose_length(arena, 1) == 0) ||
              (ucs_arena_slabs_first_vacant(&arena->slabs) == arena->slabs.num);
    ucs_arena_unlock(arena);
    return is_full;
}
