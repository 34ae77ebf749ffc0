/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "arena_int.h"

#include <ucs/base/align.h>
#include <ucs/sys/math.h>


/* How often the helper tries to register a slab if the arena is strict: the
 * registration fails while a thread protects freed memory there. A registration
 * for which the bounds have no room is tried as often */
#define MAX_ATTEMPTS 4

/* A slab is cut before its registration, to a little more than the program has
 * allocated: to a multiple of first_slab (ucs_arena_params_t) divided by this
 * number. Much shorter slabs would be many, and each use that meets an
 * unregistered slab has to register its memory by itself */
#define FIRST_PARTS 16

/* The time to the next attempt grows with each failure, to at most this many
 * times the time after the first failure */
#define MAX_BACKOFF 64


/* A plain slab has memory, but no registration. @return the plain slab that
 * contains a whole range; NULL if there is none, or if a use has already asked
 * for the registration of the slab */
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
    /* Acquire: a thread that sees the flag sees the length */
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
    /* The helper may have registered the slab meanwhile */
    if (ucs_relaxed_load(&slab->state) & UCS_ARENA_SLAB_PLAIN) {
        ucs_relaxed_or(&slab->state, UCS_ARENA_SLAB_WANTED);
        arena->wants_enrolment = 1;
        ucs_arena_wake(arena, arena->enrol_at);
    }
    result = (arena->enrol_step > 0) ? -1 : 1;
    ucs_arena_unlock(arena);
    return result;
}

/* @return how many pages to cut off the end of a slab before the registration,
 * all of them pages that nobody has allocated yet. To be called under the lock */
static uint32_t choose_cut(const ucs_arena_t *arena, uint32_t slab)
{
    size_t registered = arena->slabs.bytes[UCS_ARENA_SLAB_KIND_REGISTERED];
    size_t step       = ucs_max(arena->params.first_slab / FIRST_PARTS,
                                arena->params.page_size);
    uint32_t pages    = arena->blocks.usage[slab].pages;
    uint32_t had      = pages - ucs_arena_blocks_rest(&arena->blocks, slab);
    size_t keep       = ucs_arena_grown(arena, registered, step);

    keep = ucs_round_up(ucs_max(keep, ucs_arena_bytes(arena, had)), step);
    return pages - ucs_min(ucs_arena_pages(arena, keep), pages);
}

/* Shorten a slab to the part that somebody has allocated, and a little more */
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
        end = arena->blocks.usage[slab].pages;
        ucs_arena_slabs_set(&arena->slabs, slab, UCS_ARENA_SLAB_KIND_PLAIN,
                            ucs_arena_bytes(arena, end));
        arena->slabs.slabs[slab].is_busy = 1;
    }
    ucs_arena_unlock(arena);
    if (length == 0) {
        return;
    }

    /* After an error the pages stay mapped until the slab is unmapped */
    (void)arena->ops.unmap(
            arena->ops.arg,
            ucs_arena_address(arena,
                              (slab << arena->blocks.slab_shift) + end),
            ucs_arena_bytes(arena, length));
    ucs_arena_lock(arena);
    arena->slabs.slabs[slab].is_busy = 0;
    ucs_arena_unlock(arena);
}

/* Hold the first idle block, from a page on, that is of one of two kinds. @return the
 * first page of the block; the end if there is no such block */
static uint32_t hold_next(ucs_arena_t *arena, uint32_t page, uint32_t end,
                          ucs_arena_kind_t first, ucs_arena_kind_t second)
{
    ucs_arena_kind_t kind;

    ucs_arena_lock(arena);
    while ((page = ucs_arena_blocks_next_idle(&arena->blocks, page, end)) !=
           end) {
        kind = ucs_arena_blocks_idle_kind(&arena->blocks, page);
        if ((kind == first) || (kind == second)) {
            ucs_arena_blocks_hold(&arena->blocks, page,
                                  arena->blocks.slab_pages);
            break;
        }
        page += ucs_arena_blocks_length(&arena->blocks, page);
    }
    ucs_arena_unlock(arena);
    return page;
}

/* Hold all inaccessible pages of a slab, and make the pages accessible for a registration.
 * @return the first block of a chain */
static uint32_t unveil(ucs_arena_t *arena, uint32_t slab)
{
    uint32_t page  = slab << arena->blocks.slab_shift;
    uint32_t end   = page + arena->blocks.usage[slab].pages;
    uint32_t chain = UCS_ARENA_NO_PAGE;
    uint32_t length;

    while ((page = hold_next(arena, page, end, UCS_ARENA_KIND_MUZZY,
                             UCS_ARENA_KIND_RETAINED)) != end) {
        length = ucs_arena_blocks_length(&arena->blocks, page);
        ucs_arena_blocks_chain(&arena->blocks, page, chain);
        chain  = page;
        /* After an error the registration fails, too */
        (void)ucs_arena_protect(arena, page, length, 1);
        page += length;
    }
    return chain;
}

/* The end of unveil(): protect the pages again. All of them become muzzy, not
 * retained, since a faulty program may have written there meanwhile */
static void veil(ucs_arena_t *arena, uint32_t chain)
{
    uint32_t block;

    while (chain != UCS_ARENA_NO_PAGE) {
        block = chain;
        chain = ucs_arena_blocks_next(&arena->blocks, block);
        ucs_arena_conceal(arena, block, 0);
    }
}

/* Try once to register a plain slab */
static ucs_status_t enter(ucs_arena_t *arena, uint32_t slab)
{
    uint32_t chain = unveil(arena, slab);
    ucs_status_t status;

    status = arena->ops.reg(arena->ops.arg,
                            ucs_arena_slabs_memory(&arena->slabs, slab),
                            ucs_arena_slab_length(&arena->slabs.slabs[slab]),
                            &arena->slabs.slabs[slab].handle);
    veil(arena, chain);
    return status;
}

/* Register a plain slab, in several attempts if the arena is strict. @return whether
 * the slab is registered */
static int enrol_slab(ucs_arena_t *arena, uint32_t slab)
{
    ucs_arena_slab_t *shown = &arena->slabs.slabs[slab];
    unsigned attempts       = 0;
    ucs_status_t status;

    cut(arena, slab);
    do {
        status = enter(arena, slab);
    } while ((status != UCS_OK) && arena->params.is_strict &&
             (++attempts < MAX_ATTEMPTS));

    ucs_arena_lock(arena);
    if (status == UCS_OK) {
        ucs_arena_slabs_set(&arena->slabs, slab, UCS_ARENA_SLAB_KIND_REGISTERED,
                            ucs_arena_slab_length(shown));
        ucs_arena_slab_publish(shown);
        ++arena->stats.slabs_enrolled;
    } else {
        ucs_arena_slab_unwant(shown);
    }
    ucs_arena_unlock(arena);
    return status == UCS_OK;
}

/* Note when the helper may try to register slabs again. During a fork an attempt fails if
 * the thread that forks holds inaccessible pages of the slab: such a failure says nothing of
 * the next attempt, and the next use asks again. @param [in] was_forking  Whether the process
 * forked when the attempt began */
static void
note_attempt(ucs_arena_t *arena, int is_ok, int was_forking, ucs_arena_time_t now)
{
    ucs_arena_time_t step = ucs_max(arena->enrol_step, arena->params.retry);

    ucs_arena_lock(arena);
    is_ok                  = is_ok || was_forking || arena->is_forking;
    arena->enrol_at        = is_ok ? 0 : now + step;
    arena->enrol_step      = is_ok ? 0 :
                                     ucs_min(2 * step, MAX_BACKOFF *
                                                       arena->params.retry);
    arena->stats.failures += !is_ok;
    ucs_arena_unlock(arena);
}

void ucs_arena_enrol(ucs_arena_t *arena, ucs_arena_time_t now)
{
    int is_ok = 1;
    int is_wanted, was_forking;
    uint32_t slab;

    ucs_arena_lock(arena);
    was_forking            = arena->is_forking;
    is_wanted              = arena->wants_enrolment && (arena->enrol_at <= now);
    arena->wants_enrolment = arena->wants_enrolment && !is_wanted;
    ucs_arena_unlock(arena);
    if (!is_wanted) {
        return;
    }

    for (slab = 0; slab < ucs_arena_slabs_num_used(&arena->slabs); ++slab) {
        /* Relaxed: the use that asks has set wants_enrolment after the flag, under the
         * lock. A spoilt slab has no such flag */
        if (ucs_relaxed_load(&arena->slabs.slabs[slab].state) &
            UCS_ARENA_SLAB_WANTED) {
            is_ok = enrol_slab(arena, slab) && is_ok;
        }
    }
    note_attempt(arena, is_ok, was_forking, now);
}

ucs_status_t ucs_arena_deregister(ucs_arena_t *arena, uint32_t slab)
{
    ucs_arena_slab_t *hidden = &arena->slabs.slabs[slab];
    ucs_status_t status;

    if (hidden->kind != UCS_ARENA_SLAB_KIND_REGISTERED) {
        return UCS_OK;
    }

    status = arena->ops.dereg(arena->ops.arg, hidden->handle);
    if (status != UCS_OK) {
        ucs_arena_count(arena, &arena->stats.failures);
        return status;
    }

    ucs_arena_lock(arena);
    hidden->handle = NULL;
    ucs_arena_slabs_set(&arena->slabs, slab, UCS_ARENA_SLAB_KIND_PLAIN,
                        ucs_arena_slab_length(hidden));
    ucs_arena_unlock(arena);
    return UCS_OK;
}

/* Give the muzzy pages of a slab that was deregistered back to the kernel */
static void purge(ucs_arena_t *arena, uint32_t slab)
{
    uint32_t page = slab << arena->blocks.slab_shift;
    uint32_t end  = page + arena->blocks.usage[slab].pages;
    uint32_t length;

    while ((page = hold_next(arena, page, end, UCS_ARENA_KIND_MUZZY,
                             UCS_ARENA_KIND_MUZZY)) != end) {
        length = ucs_arena_blocks_length(&arena->blocks, page);
        ucs_arena_release(arena, page, ucs_arena_discard(arena, page));
        page += length;
    }
}

int ucs_arena_lay_off_slab(ucs_arena_t *arena, uint32_t slab)
{
    ucs_arena_slab_t *shown = &arena->slabs.slabs[slab];
    ucs_status_t status;
    int is_hidden;

    ucs_arena_lock(arena);
    is_hidden = !ucs_arena_slab_is_spoilt(shown) && ucs_arena_slab_hide(shown);
    ucs_arena_unlock(arena);
    if (!is_hidden) {
        return 0;
    }

    status = ucs_arena_deregister(arena, slab);
    if (status == UCS_OK) {
        purge(arena, slab);
    }

    ucs_arena_lock(arena);
    ucs_arena_slab_publish(shown);
    ucs_arena_unlock(arena);
    return status == UCS_OK;
}
