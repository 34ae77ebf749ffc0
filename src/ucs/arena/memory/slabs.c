/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "slabs.h"

#include <ucs/base/relaxed.h>


/* The flags by which threads find a slab with memory: a registered slab that is not
 * hidden has the first flag, a plain slab the second */
#define SERVED (UCS_ARENA_SLAB_OPEN | UCS_ARENA_SLAB_PLAIN)


int ucs_arena_slab_is_spoilt(const ucs_arena_slab_t *slab)
{
    return (ucs_relaxed_load(&slab->state) & UCS_ARENA_SLAB_SPOILT) != 0;
}

int ucs_arena_slab_is_used(const ucs_arena_slab_t *slab)
{
    /* Acquire: all that ended uses have done comes before the next step of the
     * caller */
    return (uint32_t)atomic_load_explicit(&slab->state,
                                          memory_order_acquire) != 0;
}

void *ucs_arena_slabs_memory(const ucs_arena_slabs_t *slabs, uint32_t slab)
{
    return (void*)(slabs->base + ((uintptr_t)slab << slabs->shift));
}

/* Not any vacant slab, but the first one: so live memory stays together, and
 * later slabs become empty */
uint32_t ucs_arena_slabs_first_vacant(const ucs_arena_slabs_t *slabs)
{
    uint32_t i;

    for (i = 0; i < slabs->num; ++i) {
        if ((slabs->slabs[i].kind == UCS_ARENA_SLAB_KIND_VACANT) &&
            !ucs_arena_slab_is_spoilt(&slabs->slabs[i])) {
            break;
        }
    }
    return i;
}

size_t ucs_arena_slab_length(const ucs_arena_slab_t *slab)
{
    return ucs_relaxed_load(&slab->length);
}

void ucs_arena_slabs_set(ucs_arena_slabs_t *slabs, uint32_t slab,
                         ucs_arena_slab_kind_t kind, size_t length)
{
    ucs_arena_slab_t *changed = &slabs->slabs[slab];

    slabs->bytes[changed->kind] -= ucs_arena_slab_length(changed);
    slabs->bytes[kind]          += length;
    changed->kind                = kind;
    /* Relaxed: nobody finds the slab before ucs_arena_slab_publish() */
    ucs_relaxed_store(&changed->length, length);
    if (slab >= ucs_arena_slabs_num_used(slabs)) {
        ucs_relaxed_store(&slabs->num_used, slab + 1);
    }
}

size_t ucs_arena_slabs_committed(const ucs_arena_slabs_t *slabs)
{
    return slabs->bytes[UCS_ARENA_SLAB_KIND_PLAIN] +
           slabs->bytes[UCS_ARENA_SLAB_KIND_REGISTERED];
}

void ucs_arena_slab_publish(ucs_arena_slab_t *slab)
{
    /* Relaxed: the flags are written under the lock */
    if (ucs_relaxed_load(&slab->state) &
        (UCS_ARENA_SLAB_SPOILT | UCS_ARENA_SLAB_CONCEALED)) {
        return;
    }

    /* Flags are set and cleared one by one, so that the number of uses stays: a thread
     * that found the slab before it was closed may have added 1 to the number, and may
     * be about to take the 1 off, see ucs_arena_slab_acquire() */
    if (slab->kind == UCS_ARENA_SLAB_KIND_PLAIN) {
        atomic_fetch_or_explicit(&slab->state, UCS_ARENA_SLAB_PLAIN,
                                 memory_order_release);
    } else {
        ucs_relaxed_and(&slab->state, ~(UCS_ARENA_SLAB_PLAIN | UCS_ARENA_SLAB_WANTED));
        atomic_fetch_or_explicit(&slab->state, UCS_ARENA_SLAB_OPEN,
                                 memory_order_release);
    }
}

void ucs_arena_slab_unwant(ucs_arena_slab_t *slab)
{
    /* Relaxed: the flags are written under the lock */
    ucs_relaxed_and(&slab->state, ~UCS_ARENA_SLAB_WANTED);
}

int ucs_arena_slab_hide(ucs_arena_slab_t *slab)
{
    /* Acquire: see ucs_arena_slab_is_used(). Nobody begins a use from now on */
    uint64_t state = atomic_fetch_and_explicit(
            &slab->state, ~(SERVED | UCS_ARENA_SLAB_WANTED),
            memory_order_acquire);

    if ((uint32_t)state == 0) {
        return 1;
    }

    ucs_arena_slab_publish(slab);
    return 0;
}

void ucs_arena_slab_spoil(ucs_arena_slab_t *slab)
{
    /* Relaxed, as in ucs_arena_slab_mend(): the flags are written under the lock */
    ucs_relaxed_or(&slab->state, UCS_ARENA_SLAB_SPOILT);
    ucs_relaxed_and(&slab->state, ~(SERVED | UCS_ARENA_SLAB_WANTED));
}

void ucs_arena_slab_mend(ucs_arena_slab_t *slab)
{
    ucs_relaxed_and(&slab->state, ~UCS_ARENA_SLAB_SPOILT);
}

int ucs_arena_slabs_clip(const ucs_arena_slabs_t *slabs, uintptr_t *start_p,
                         uintptr_t *end_p)
{
    uintptr_t first = slabs->base;
    uintptr_t end   = first + slabs->size;

    if ((*end_p <= first) || (*start_p >= end) || (*start_p >= *end_p)) {
        return 0;
    }

    *start_p = ucs_max(*start_p, first);
    *end_p   = ucs_min(*end_p, end);
    return 1;
}

void ucs_arena_slabs_conceal(ucs_arena_slabs_t *slabs)
{
    uint32_t i;

    for (i = 0; i < ucs_arena_slabs_num_used(slabs); ++i) {
        ucs_relaxed_or(&slabs->slabs[i].state, UCS_ARENA_SLAB_CONCEALED);
        ucs_relaxed_and(&slabs->slabs[i].state, ~SERVED);
    }
}
