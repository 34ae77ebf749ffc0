/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "trim.h"

#include "work.h"

#include <ucs/sys/math.h>


/* Hold all pages of a slab, if nobody has any of them or works at them */
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

/* The end of hold_slab() for a slab that stays: its blocks are idle as they were, or
 * gone */
static void release_slab(ucs_arena_t *arena, uint32_t slab)
{
    ucs_arena_blocks_t *blocks = &arena->blocks;
    uint32_t page              = slab << blocks->slab_shift;
    uint32_t end               = page + blocks->usage[slab].pages;
    uint32_t next;

    ucs_arena_lock(arena);
    for (; page < end; page = next) {
        next = page + ucs_arena_blocks_length(blocks, page);
        ucs_arena_blocks_release(blocks, page,
                                 ucs_arena_blocks_held_kind(blocks, page));
    }
    ucs_arena_unlock(arena);
}

/* Forget the held blocks of a slab that is closed.
 * @param [in] status  Whether its memory could be taken away */
static void forget(ucs_arena_t *arena, uint32_t slab, ucs_status_t status)
{
    uint32_t page = slab << arena->blocks.slab_shift;
    uint32_t end  = page + arena->blocks.usage[slab].pages;
    uint32_t next;

    ucs_arena_lock(arena);
    for (; page < end; page = next) {
        next = page + ucs_arena_blocks_length(&arena->blocks, page);
        ucs_arena_blocks_drop(&arena->blocks, page);
    }
    ucs_arena_forget(arena, slab);
    arena->moving = UCS_ARENA_NO_SLAB;
    ++arena->stats.slabs_closed;
    arena->stats.failures += (status != UCS_OK);
    ucs_arena_note_slabs(arena);
    ucs_arena_unlock(arena);
}

/* Let a slab not be found any more. @return 0 if it is in use */
static int hide(ucs_arena_t *arena, ucs_arena_slab_t *slab)
{
    int is_hidden;

    ucs_arena_lock(arena);
    is_hidden = ucs_arena_slab_hide(slab);
    ucs_arena_unlock(arena);
    return is_hidden;
}

/* Let a slab not be found any more which is to be given back, and let those wait who map
 * something to the rest of its addresses. @return 0 if they have, or it is in use */
static int hide_whole(ucs_arena_t *arena, uint32_t slab)
{
    int is_hidden;

    ucs_arena_lock(arena);
    is_hidden = !arena->blocks.usage[slab].is_spoilt &&
                ucs_arena_slab_hide(&arena->slabs.slabs[slab]);
    if (is_hidden) {
        arena->moving = slab;
    }
    ucs_arena_unlock(arena);
    return is_hidden;
}

/* Give a slab back, if it is empty. @return whether it was */
static int close_slab(ucs_arena_t *arena, uint32_t slab)
{
    ucs_arena_slab_t *shown = &arena->slabs.slabs[slab];
    ucs_status_t status;

    /* While its pages are held, nobody can allocate them */
    if (ucs_arena_slab_is_used(shown) || !hold_slab(arena, slab)) {
        return 0;
    }

    if (!hide_whole(arena, slab)) {
        goto err_release;
    }

    if (ucs_arena_slabs_deregister(&arena->slabs, &arena->ops, slab) !=
        UCS_OK) {
        goto err_publish;
    }

    status = ucs_arena_slabs_clear(&arena->slabs, &arena->ops, slab);
    forget(arena, slab, status);
    return 1;

err_publish:
    ucs_arena_lock(arena);
    arena->moving = UCS_ARENA_NO_SLAB;
    ucs_arena_slab_publish(shown);
    ++arena->stats.failures;
    ucs_arena_unlock(arena);
err_release:
    release_slab(arena, slab);
    return 0;
}

/* When a slab is to be given back; UCS_ARENA_NEVER if it is not. To be called
 * under the lock */
static ucs_arena_time_t due_of(const ucs_arena_t *arena, uint32_t slab)
{
    const ucs_arena_usage_t *usage = &arena->blocks.usage[slab];

    return (ucs_arena_slab_is_served(&arena->slabs.slabs[slab]) &&
            (usage->live == 0)) ?
                   usage->empty_since + arena->params.idle :
                   UCS_ARENA_NEVER;
}

/* Whether the kernel would not take memory back of a slab that the program has
 * nothing of */
static int is_left(const ucs_arena_slab_t *slab)
{
    return slab->is_bare && !ucs_arena_slab_is_spoilt(slab);
}

/* Take memory away that the kernel would not take back before */
static void clear_left(ucs_arena_t *arena)
{
    const ucs_arena_slabs_t *slabs = &arena->slabs;
    uint32_t slab;

    for (slab = 0; (slab < slabs->num_used) && (slabs->num_bare > 0); ++slab) {
        if (is_left(&slabs->slabs[slab])) {
            (void)ucs_arena_take_away(arena, slab);
        }
    }

    ucs_arena_lock(arena);
    ucs_arena_note_slabs(arena);
    ucs_arena_unlock(arena);
}

/* Deregister a spoilt slab when it is not in use, and take its memory away when
 * the program has none of it any more: then it is vacant. @return when it is to
 * be looked at again */
static ucs_arena_time_t
mend(ucs_arena_t *arena, uint32_t slab, ucs_arena_time_t now)
{
    ucs_arena_slab_t *shown = &arena->slabs.slabs[slab];
    ucs_status_t status     = UCS_OK;

    if (shown->is_registered || shown->is_plain) {
        status = ucs_arena_slab_is_used(shown) ?
                         UCS_ERR_NO_RESOURCE :
                         ucs_arena_slabs_deregister(&arena->slabs, &arena->ops,
                                                    slab);
    }
    if (status == UCS_OK) {
        status = ucs_arena_take_away(arena, slab);
    }

    ucs_arena_lock(arena);
    ucs_arena_note_slabs(arena);
    ucs_arena_unlock(arena);

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
    arena->wants_mend  = 0;
    ucs_arena_unlock(arena);

    /* Also those that never had memory: the program may have mapped some */
    for (slab = 0; is_any && (slab < arena->slabs.num); ++slab) {
        if (ucs_arena_slab_is_spoilt(&arena->slabs.slabs[slab])) {
            due  = mend(arena, slab, now);
            next = ucs_min(next, due);
        }
    }
    return next;
}

/* Give back a slab if it is due. @return when it is to be looked at again */
static ucs_arena_time_t
trim_slab(ucs_arena_t *arena, uint32_t slab, ucs_arena_time_t due,
          ucs_arena_time_t now)
{
    if (due > now) {
        return due;
    }
    return close_slab(arena, slab) ? UCS_ARENA_NEVER :
                                     now + arena->params.retry;
}

ucs_arena_time_t ucs_arena_trim(ucs_arena_t *arena, ucs_arena_time_t now)
{
    ucs_arena_time_t next = mend_all(arena, now);
    uint32_t slab         = arena->slabs.num_used;
    ucs_arena_time_t due;

    clear_left(arena);

    /* Memory in use stays in the first slabs */
    while (slab-- > 0) {
        ucs_arena_lock(arena);
        due   = due_of(arena, slab);
        if ((due != UCS_ARENA_NEVER) &&
            !ucs_arena_is_dispensable(arena, slab)) {
            due = UCS_ARENA_NEVER;
        }
        ucs_arena_unlock(arena);
        if (due != UCS_ARENA_NEVER) {
            due  = trim_slab(arena, slab, due, now);
            next = ucs_min(next, due);
        }
        if (is_left(&arena->slabs.slabs[slab])) {
            next = ucs_min(next, now + arena->params.retry);
        }
    }

    return next;
}

/* Deregister a slab of which the program has memory, but no use needs it: it is plain
 * then, until it is used again. @return whether it was */
static int lay_off(ucs_arena_t *arena, uint32_t slab)
{
    ucs_arena_slab_t *shown = &arena->slabs.slabs[slab];
    ucs_status_t status;

    if (ucs_arena_slab_is_used(shown) || ucs_arena_slab_is_spoilt(shown) ||
        !hide(arena, shown)) {
        return 0;
    }

    status = ucs_arena_slabs_deregister(&arena->slabs, &arena->ops, slab);
    if (status == UCS_OK) {
        ucs_arena_slabs_leave_plain(&arena->slabs, slab);
    }

    ucs_arena_lock(arena);
    if (status == UCS_OK) {
        ucs_arena_blocks_lay_off(&arena->blocks, slab);
    } else {
        ++arena->stats.failures;
    }
    ucs_arena_slab_publish(shown);
    ucs_arena_note_slabs(arena);
    ucs_arena_unlock(arena);
    return status == UCS_OK;
}

/* Do something to registered slabs until so many bytes are not registered any more.
 * @return how many are not */
static size_t each_registered(ucs_arena_t *arena, size_t bytes,
                              int (*func)(ucs_arena_t *arena, uint32_t slab))
{
    uint32_t slab = arena->slabs.num_used;
    size_t given  = 0;
    size_t length;

    while ((slab-- > 0) && (given < bytes)) {
        length = ucs_arena_slab_length(&arena->slabs.slabs[slab]);
        if (arena->slabs.slabs[slab].is_registered && func(arena, slab)) {
            given += length;
        }
    }
    return given;
}

size_t ucs_arena_shrink(ucs_arena_t *arena, size_t bytes,
                        ucs_arena_time_t now)
{
    size_t given;

    if (atomic_load_explicit(&arena->is_off, memory_order_relaxed)) {
        return 0;
    }

    ucs_mutex_lock(&arena->work);
    ucs_hook_enter();
    /* To close a plain slab would give nothing back: it has no memory but what was
     * freed in the last milliseconds */
    given = each_registered(arena, bytes, close_slab);
    if (given < bytes) {
        given += each_registered(arena, bytes - given, lay_off);
    }
    ucs_hook_leave();

    ucs_arena_lock(arena);
    arena->has_shrunk   = 1;
    arena->opening.at   = ucs_max(arena->opening.at, now + arena->params.idle);
    arena->enrolling.at = ucs_max(arena->enrolling.at,
                                  now + arena->params.idle);
    ucs_arena_unlock(arena);
    ucs_mutex_unlock(&arena->work);
    return given;
}

void ucs_arena_lay_off(ucs_arena_t *arena)
{
    if (atomic_load_explicit(&arena->is_off, memory_order_relaxed)) {
        return;
    }

    ucs_mutex_lock(&arena->work);
    ucs_hook_enter();
    (void)each_registered(arena, SIZE_MAX, lay_off);
    ucs_hook_leave();
    ucs_mutex_unlock(&arena->work);
}

/* Deregister a slab at the end, and take its memory away if none of it is
 * live */
static ucs_status_t stop_slab(ucs_arena_t *arena, uint32_t slab)
{
    ucs_arena_slab_t *shown = &arena->slabs.slabs[slab];
    ucs_status_t status;
    int is_empty;

    if (!hide(arena, shown)) {
        return UCS_ERR_BUSY;
    }

    status = ucs_arena_slabs_deregister(&arena->slabs, &arena->ops, slab);
    if (status != UCS_OK) {
        ucs_arena_lock(arena);
        ucs_arena_slab_publish(shown);
        ucs_arena_unlock(arena);
        return status;
    }

    ucs_arena_lock(arena);
    /* Not while another thread frees some of it, either */
    is_empty = (arena->blocks.usage[slab].idle ==
                arena->blocks.usage[slab].pages);
    ucs_arena_unlock(arena);
    return is_empty ? ucs_arena_slabs_clear(&arena->slabs, &arena->ops, slab) :
                      UCS_OK;
}

ucs_status_t ucs_arena_stop(ucs_arena_t *arena)
{
    ucs_status_t result = UCS_OK;
    ucs_status_t status;
    uint32_t slab;

    ucs_mutex_lock(&arena->work);
    ucs_hook_enter();
    ucs_arena_lock(arena);
    atomic_store_explicit(&arena->is_off, 1, memory_order_relaxed);
    atomic_store_explicit(&arena->due, UCS_ARENA_NEVER, memory_order_relaxed);
    ucs_arena_unlock(arena);

    for (slab = 0; slab < arena->slabs.num_used; ++slab) {
        if (arena->slabs.slabs[slab].is_registered ||
            arena->slabs.slabs[slab].is_plain) {
            status = stop_slab(arena, slab);
            result = (status != UCS_OK) ? status : result;
        }
    }

    ucs_arena_lock(arena);
    ucs_arena_note_slabs(arena);
    ucs_arena_unlock(arena);
    ucs_hook_leave();
    ucs_mutex_unlock(&arena->work);
    return result;
}
