/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "arena_int.h"

#include <ucs/sys/math.h>


/* Hold all pages of a slab if all of them are idle. @return whether they are */
static int hold_slab(ucs_arena_t *arena, uint32_t slab)
{
    ucs_arena_blocks_t *blocks = &arena->blocks;
    uint32_t page              = slab << blocks->slab_shift;
    uint32_t end               = page + blocks->usage[slab].pages;
    int is_idle;

    ucs_arena_lock(arena);
    is_idle = (blocks->usage[slab].idle == blocks->usage[slab].pages);
    while (is_idle && (page < end)) {
        page += ucs_arena_blocks_hold(blocks, page, blocks->slab_pages);
    }
    ucs_arena_unlock(arena);
    return is_idle;
}

/* Undo hold_slab(), since the slab stays: the blocks are idle as before, unless
 * the slab is spoilt */
static void release_slab(ucs_arena_t *arena, uint32_t slab)
{
    ucs_arena_blocks_t *blocks = &arena->blocks;
    uint32_t page              = slab << blocks->slab_shift;
    uint32_t end               = page + blocks->usage[slab].pages;
    uint32_t next;

    for (; page < end; page = next) {
        next = page + ucs_arena_blocks_length(blocks, page);
        ucs_arena_release(arena, page,
                          ucs_arena_blocks_held_kind(blocks, page));
    }
}

/* Let nobody find a slab that is about to be unmapped, and let it be busy, so
 * that threads wait before they map something else there. @return 0 if the slab
 * is spoilt, or its registration is in use: nothing has changed */
static int hide(ucs_arena_t *arena, uint32_t slab)
{
    ucs_arena_slab_t *shown = &arena->slabs.slabs[slab];
    int is_hidden;

    ucs_arena_lock(arena);
    is_hidden      = !ucs_arena_slab_is_spoilt(shown) &&
                     ucs_arena_slab_hide(shown);
    shown->is_busy = is_hidden;
    ucs_arena_unlock(arena);
    return is_hidden;
}

/* Let a slab be vacant and not busy any more. Both change under one hold of the
 * lock: as soon as the slab is not busy, a thread that has waited to map something
 * there marks the slab spoilt, and this mark must stay.
 * @param [in] status  UCS_OK: the memory was unmapped; else the slab stays */
static void end_closing(ucs_arena_t *arena, uint32_t slab, ucs_status_t status)
{
    ucs_arena_slab_t *closed = &arena->slabs.slabs[slab];

    ucs_arena_lock(arena);
    closed->is_busy = 0;
    if (status == UCS_OK) {
        if (ucs_arena_slab_is_spoilt(closed)) {
            ucs_arena_slab_mend(closed);
            --arena->num_spoilt;
        }
        ucs_arena_blocks_close(&arena->blocks, slab);
        ucs_arena_slabs_set(&arena->slabs, slab, UCS_ARENA_SLAB_KIND_VACANT, 0);
    } else {
        ucs_arena_slab_publish(closed);
    }
    ucs_arena_unlock(arena);
}

/* Take away all memory at the addresses of a slab, even the program's mappings */
static ucs_status_t unmap(ucs_arena_t *arena, uint32_t slab)
{
    ucs_status_t status;

    status = arena->ops.unmap(arena->ops.arg,
                              ucs_arena_slabs_memory(&arena->slabs, slab),
                              arena->slabs.mask + 1);
    if (status != UCS_OK) {
        ucs_arena_count(arena, &arena->stats.failures);
    }
    return status;
}

/* Forget the held blocks of a slab without memory */
static void drop_all(ucs_arena_t *arena, uint32_t slab)
{
    uint32_t page = slab << arena->blocks.slab_shift;
    uint32_t end  = page + arena->blocks.usage[slab].pages;
    uint32_t next;

    ucs_arena_lock(arena);
    for (; page < end; page = next) {
        next = page + ucs_arena_blocks_length(&arena->blocks, page);
        ucs_arena_blocks_drop(&arena->blocks, page);
    }
    ++arena->stats.slabs_closed;
    ucs_arena_unlock(arena);
}

/* Deregister and unmap an empty slab. If the kernel refuses to unmap the
 * memory, the slab is plain: with memory, not registered.
 * @return whether the slab is vacant */
static int close_slab(ucs_arena_t *arena, uint32_t slab)
{
    ucs_status_t status;

    /* The pages are held until the end, so that nobody allocates them meanwhile */
    if (ucs_arena_slab_is_used(&arena->slabs.slabs[slab]) ||
        !hold_slab(arena, slab)) {
        return 0;
    }

    if (!hide(arena, slab)) {
        release_slab(arena, slab);
        return 0;
    }

    status = ucs_arena_deregister(arena, slab);
    if (status == UCS_OK) {
        status = unmap(arena, slab);
    }
    if (status == UCS_OK) {
        drop_all(arena, slab);
    } else {
        release_slab(arena, slab);
    }
    end_closing(arena, slab, status);
    return status == UCS_OK;
}

/* Unmap a spoilt slab that is not registered, and let it be vacant, unless the
 * program has memory there */
static ucs_status_t take_away(ucs_arena_t *arena, uint32_t slab)
{
    ucs_status_t status;
    int is_gone;

    ucs_arena_lock(arena);
    is_gone                          = ucs_arena_blocks_is_gone(&arena->blocks,
                                                                slab);
    arena->slabs.slabs[slab].is_busy = is_gone;
    ucs_arena_unlock(arena);
    if (!is_gone) {
        return UCS_ERR_BUSY;
    }

    status = unmap(arena, slab);
    end_closing(arena, slab, status);
    return status;
}

/* Deregister a spoilt slab once its registration is not in use, and unmap it
 * once the program has no memory there. @return when to call this function again */
static ucs_arena_time_t
mend(ucs_arena_t *arena, uint32_t slab, ucs_arena_time_t now)
{
    ucs_arena_slab_t *spoilt = &arena->slabs.slabs[slab];
    ucs_status_t status      = UCS_ERR_NO_RESOURCE;
    int is_busy;

    ucs_arena_lock(arena);
    is_busy = spoilt->is_busy; /* A thread that is opening the slab calls the
                                  helper when it is done */
    ucs_arena_unlock(arena);
    if (is_busy) {
        return UCS_ARENA_NEVER;
    }

    if (!ucs_arena_slab_is_used(spoilt)) {
        status = ucs_arena_deregister(arena, slab);
    }
    if (status == UCS_OK) {
        status = take_away(arena, slab);
    }
    return ((status == UCS_OK) || (status == UCS_ERR_BUSY)) ?
                   UCS_ARENA_NEVER :
                   now + arena->params.retry;
}

static ucs_arena_time_t mend_all(ucs_arena_t *arena, ucs_arena_time_t now)
{
    ucs_arena_time_t next = UCS_ARENA_NEVER;
    ucs_arena_time_t due;
    uint32_t slab;
    int is_any;

    ucs_arena_lock(arena);
    is_any            = (arena->num_spoilt > 0);
    arena->wants_mend = 0;
    ucs_arena_unlock(arena);

    /* All slabs, also those that never had memory: the program may have mapped
     * something there */
    for (slab = 0; is_any && (slab < arena->slabs.num); ++slab) {
        if (ucs_arena_slab_is_spoilt(&arena->slabs.slabs[slab])) {
            due  = mend(arena, slab, now);
            next = ucs_min(next, due);
        }
    }
    return next;
}

/* @return when an empty slab is to be unmapped; UCS_ARENA_NEVER if the slab is
 * not empty */
static ucs_arena_time_t due_of(ucs_arena_t *arena, uint32_t slab)
{
    const ucs_arena_slab_t *shown  = &arena->slabs.slabs[slab];
    const ucs_arena_usage_t *usage = &arena->blocks.usage[slab];
    ucs_arena_time_t due           = UCS_ARENA_NEVER;

    ucs_arena_lock(arena);
    if ((shown->kind != UCS_ARENA_SLAB_KIND_VACANT) && !shown->is_busy &&
        !usage->is_spoilt && (usage->live == 0)) {
        due = usage->empty_since + arena->params.idle;
    }
    ucs_arena_unlock(arena);
    return due;
}

ucs_arena_time_t ucs_arena_trim(ucs_arena_t *arena, ucs_arena_time_t now)
{
    ucs_arena_time_t next = mend_all(arena, now);
    uint32_t slab;
    ucs_arena_time_t due;

    for (slab = 0; slab < ucs_arena_slabs_num_used(&arena->slabs); ++slab) {
        due = due_of(arena, slab);
        if (due <= now) {
            due = close_slab(arena, slab) ? UCS_ARENA_NEVER :
                                            now + arena->params.retry;
        }
        next = ucs_min(next, due);
    }
    return next;
}

static int is_registered(ucs_arena_t *arena, uint32_t slab)
{
    int result;

    ucs_arena_lock(arena);
    result = (arena->slabs.slabs[slab].kind == UCS_ARENA_SLAB_KIND_REGISTERED);
    ucs_arena_unlock(arena);
    return result;
}

/* Call a function that deregisters a slab for one registered slab after the other,
 * until @a bytes are deregistered. @return how many bytes were deregistered */
static size_t each_registered(ucs_arena_t *arena, size_t bytes,
                              int (*func)(ucs_arena_t *arena, uint32_t slab))
{
    uint32_t slab = ucs_arena_slabs_num_used(&arena->slabs);
    size_t given  = 0;
    size_t length;

    while ((slab-- > 0) && (given < bytes)) {
        length = ucs_arena_slab_length(&arena->slabs.slabs[slab]);
        if (is_registered(arena, slab) && func(arena, slab)) {
            given += length;
        }
    }
    return given;
}

size_t ucs_arena_shrink(ucs_arena_t *arena, size_t bytes,
                        ucs_arena_time_t now)
{
    size_t given;

    if (ucs_arena_is_off(arena)) {
        return 0;
    }

    ucs_mutex_lock(&arena->work);
    ucs_hook_enter();
    /* Plain slabs stay: their free pages have gone back to the kernel already,
     * except for pages that were freed in the last milliseconds */
    given = each_registered(arena, bytes, close_slab);
    if (given < bytes) {
        given += each_registered(arena, bytes - given, ucs_arena_lay_off_slab);
    }
    ucs_hook_leave();

    ucs_arena_lock(arena);
    arena->enrol_at = ucs_max(arena->enrol_at, now + arena->params.idle);
    ucs_arena_unlock(arena);
    ucs_mutex_unlock(&arena->work);
    return given;
}

void ucs_arena_lay_off(ucs_arena_t *arena)
{
    ucs_mutex_lock(&arena->work);
    ucs_hook_enter();
    (void)each_registered(arena, SIZE_MAX, ucs_arena_lay_off_slab);
    ucs_hook_leave();
    ucs_mutex_unlock(&arena->work);
}

/* Deregister a slab at the end of the arena, and unmap it unless pages are
 * live, or held by a thread that frees memory */
static ucs_status_t stop_slab(ucs_arena_t *arena, uint32_t slab)
{
    ucs_arena_slab_t *shown = &arena->slabs.slabs[slab];
    ucs_status_t status;
    int is_hidden, is_empty;

    ucs_arena_lock(arena);
    is_hidden = ucs_arena_slab_hide(shown);
    ucs_arena_unlock(arena);
    if (!is_hidden) {
        return UCS_ERR_BUSY;
    }

    status = ucs_arena_deregister(arena, slab);

    ucs_arena_lock(arena);
    if (status != UCS_OK) {
        ucs_arena_slab_publish(shown);
    }
    is_empty = !shown->is_busy && !ucs_arena_slab_is_spoilt(shown) &&
               (shown->kind != UCS_ARENA_SLAB_KIND_VACANT) &&
               (arena->blocks.usage[slab].idle ==
                arena->blocks.usage[slab].pages);
    ucs_arena_unlock(arena);
    if ((status != UCS_OK) || !is_empty) {
        return status;
    }

    status = unmap(arena, slab);
    end_closing(arena, slab, status);
    return status;
}

ucs_status_t ucs_arena_stop(ucs_arena_t *arena)
{
    ucs_status_t result = UCS_OK;
    ucs_status_t status;
    uint32_t slab;

    ucs_mutex_lock(&arena->work);
    ucs_hook_enter();
    ucs_arena_lock(arena);
    ucs_relaxed_store(&arena->is_off, 1);
    ucs_relaxed_store(&arena->due, UCS_ARENA_NEVER);
    ucs_arena_unlock(arena);

    for (slab = 0; slab < ucs_arena_slabs_num_used(&arena->slabs); ++slab) {
        status = stop_slab(arena, slab);
        result = (status != UCS_OK) ? status : result;
    }
    ucs_hook_leave();
    ucs_mutex_unlock(&arena->work);
    return result;
}
