/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "enrol.h"

#include "dark.h"
#include "work.h"

#include <ucs/base/align.h>
#include <ucs/sys/math.h>


/* If strict, a slab cannot be registered in which a thread frees memory just then: how
 * often it is tried. What has another reason, such as a bound, fails as often */
#define MAX_ATTEMPTS 4

/* What is registered is a multiple of this part of the first slab: less than
 * that is more than was needed by then. Each use that meets a slab which is not
 * registered yet registers by itself, so that slabs are not to be many */
#define FIRST_PARTS 16


/* The plain slab that has all of a range, and that nobody has asked for; NULL:
 * there is none */
static ucs_arena_slab_t *
find_plain(const ucs_arena_t *arena, uintptr_t address, size_t length)
{
    uintptr_t offset = address - arena->slabs.base;
    size_t start     = offset & arena->slabs.mask;
    ucs_arena_slab_t *slab;
    uint64_t state;
    size_t end;

    if (offset >= arena->slabs.size) {
        return NULL;
    }

    slab  = &arena->slabs.slabs[offset >> arena->slabs.shift];
    /* Acquire: who sees that it is plain sees its length */
    state = atomic_load_explicit(&slab->state, memory_order_acquire);
    if (!(state & UCS_ARENA_SLAB_PLAIN) || (state & UCS_ARENA_SLAB_WANTED)) {
        return NULL;
    }

    end = ucs_arena_slab_length(slab);
    return ((start < end) && (length - 1 < end - start)) ? slab : NULL;
}

int ucs_arena_want(ucs_arena_t *arena, const void *address, size_t length)
{
    ucs_arena_slab_t *slab = find_plain(arena, (uintptr_t)address, length);
    int result;

    if (ucs_likely(slab == NULL)) {
        return 0;
    }

    ucs_arena_lock(arena);
    /* It may be open by now */
    if (atomic_load_explicit(&slab->state, memory_order_relaxed) &
        UCS_ARENA_SLAB_PLAIN) {
        atomic_fetch_or_explicit(&slab->state, UCS_ARENA_SLAB_WANTED,
                                 memory_order_relaxed);
        arena->wants_enrolment = 1;
        ucs_arena_wake(arena, arena->enrolling.at);
    }
    result = (arena->enrolling.step > 0) ? -1 : 1;
    ucs_arena_unlock(arena);
    return result;
}

/* The pages that go from the end of a slab which is to be registered, since nobody
 * has had them yet. To be called under the lock */
static uint32_t choose_cut(const ucs_arena_t *arena, uint32_t slab)
{
    uint32_t pages = arena->blocks.usage[slab].pages;
    uint32_t rest  = ucs_arena_blocks_rest(&arena->blocks, slab);
    size_t step    = ucs_max(arena->params.first_slab / FIRST_PARTS,
                             arena->params.page_size);
    size_t keep    = ucs_arena_grown(arena, arena->slabs.bytes_registered,
                                     step);

    keep = ucs_round_up(ucs_max(keep, pages - rest),
                                    ucs_arena_pages(arena, step));
    return pages - ucs_min(keep, pages);
}

/* Let a slab end where nobody has had memory of it */
static void cut(ucs_arena_t *arena, uint32_t slab)
{
    uint32_t length = 0;
    uint32_t end    = 0;

    ucs_arena_lock(arena);
    if (!arena->blocks.usage[slab].is_spoilt) {
        length = choose_cut(arena, slab);
    }
    if (length > 0) {
        ucs_arena_blocks_cut(&arena->blocks, slab, length);
        end           = arena->blocks.usage[slab].pages;
        arena->moving = slab;
        ucs_arena_slabs_cut(&arena->slabs, slab, ucs_arena_bytes(arena, end));
    }
    ucs_arena_unlock(arena);
    if (length == 0) {
        return;
    }

    /* If it fails, it goes with the slab */
    (void)arena->ops.unmap(
            arena->ops.arg,
            ucs_arena_address(arena,
                              (slab << arena->blocks.slab_shift) + end),
            ucs_arena_bytes(arena, length));
    ucs_arena_moved(arena);
}

/* Register a plain slab. @return whether that has not failed */
static int enrol_slab(ucs_arena_t *arena, uint32_t slab)
{
    ucs_arena_slab_t *shown = &arena->slabs.slabs[slab];
    unsigned attempts       = 0;
    ucs_status_t status;
    uint32_t chain;

    cut(arena, slab);
    do {
        chain  = ucs_arena_unveil(arena, slab);
        status = ucs_arena_slabs_register(&arena->slabs, &arena->ops, slab);
        ucs_arena_veil(arena, chain);
    } while ((status != UCS_OK) && arena->params.is_strict &&
             (++attempts < MAX_ATTEMPTS));

    ucs_arena_lock(arena);
    if (status == UCS_OK) {
        ucs_arena_blocks_enrol(&arena->blocks, slab);
        ucs_arena_slab_publish(shown);
        ++arena->stats.slabs_enrolled;
    } else {
        ucs_arena_slab_unwant(shown);
    }
    ucs_arena_note_slabs(arena);
    ucs_arena_unlock(arena);
    return status == UCS_OK;
}

/* Whether a slab is to be registered: not one that is spoilt */
static int is_wanted(const ucs_arena_slab_t *slab)
{
    /* Relaxed: written under the lock, after which whoever asks has set
     * wants_enrolment */
    return slab->is_plain &&
           (atomic_load_explicit(&slab->state, memory_order_relaxed) &
            UCS_ARENA_SLAB_WANTED);
}

void ucs_arena_enrol(ucs_arena_t *arena, ucs_arena_time_t now)
{
    int is_ok = 1;
    uint32_t slab;

    ucs_arena_lock(arena);
    if (!arena->wants_enrolment || (arena->enrolling.at > now)) {
        ucs_arena_unlock(arena);
        return;
    }

    arena->wants_enrolment = 0;
    ucs_arena_unlock(arena);

    for (slab = 0; slab < arena->slabs.num_used; ++slab) {
        if (is_wanted(&arena->slabs.slabs[slab])) {
            is_ok = enrol_slab(arena, slab) && is_ok;
        }
    }

    ucs_arena_lock(arena);
    if (is_ok) {
        ucs_arena_worked(&arena->enrolling);
    } else {
        ucs_arena_failed(arena, &arena->enrolling, now);
    }
    ucs_arena_unlock(arena);
}
