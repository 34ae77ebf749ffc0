/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "slabs.h"


/* In the state: the program gets memory of it */
#define SERVED (UCS_ARENA_SLAB_OPEN | UCS_ARENA_SLAB_PLAIN)


int ucs_arena_slab_is_served(const ucs_arena_slab_t *slab)
{
    return (atomic_load_explicit(&slab->state, memory_order_relaxed) &
            SERVED) != 0;
}

int ucs_arena_slab_is_spoilt(const ucs_arena_slab_t *slab)
{
    return (atomic_load_explicit(&slab->state, memory_order_relaxed) &
            UCS_ARENA_SLAB_SPOILT) != 0;
}

int ucs_arena_slab_is_used(const ucs_arena_slab_t *slab)
{
    /* Acquire: what uses have done comes before what follows */
    return (uint32_t)atomic_load_explicit(&slab->state,
                                          memory_order_acquire) != 0;
}

void *ucs_arena_slabs_memory(const ucs_arena_slabs_t *slabs, uint32_t slab)
{
    return (void*)(slabs->base + ((uintptr_t)slab << slabs->shift));
}

int ucs_arena_slabs_has_vacant(const ucs_arena_slabs_t *slabs)
{
    return slabs->num_registered + slabs->num_bare + slabs->num_plain <
           slabs->num;
}

/* The first one: memory in use stays together, and later slabs become empty */
uint32_t ucs_arena_slabs_first_vacant(const ucs_arena_slabs_t *slabs)
{
    uint32_t i;

    for (i = 0; i < slabs->num; ++i) {
        if (!slabs->slabs[i].is_bare && !slabs->slabs[i].is_registered &&
            !slabs->slabs[i].is_plain &&
            !ucs_arena_slab_is_spoilt(&slabs->slabs[i])) {
            break;
        }
    }
    return i;
}

size_t ucs_arena_slab_length(const ucs_arena_slab_t *slab)
{
    return atomic_load_explicit(&slab->length, memory_order_relaxed);
}

static void set_bare(ucs_arena_slabs_t *slabs, uint32_t slab, int is_bare)
{
    size_t length = ucs_arena_slab_length(&slabs->slabs[slab]);

    if (is_bare != slabs->slabs[slab].is_bare) {
        slabs->num_bare            += is_bare ? 1 : -1;
        slabs->bytes_bare          += is_bare ? length : -length;
        slabs->slabs[slab].is_bare  = is_bare;
    }
}

static void set_plain(ucs_arena_slabs_t *slabs, uint32_t slab, int is_plain)
{
    size_t length = ucs_arena_slab_length(&slabs->slabs[slab]);

    if (is_plain != slabs->slabs[slab].is_plain) {
        slabs->num_plain            += is_plain ? 1 : -1;
        slabs->bytes_plain          += is_plain ? length : -length;
        slabs->slabs[slab].is_plain  = is_plain;
    }
}

static void set_length(ucs_arena_slabs_t *slabs, uint32_t slab, size_t length)
{
    /* Relaxed: nobody finds the slab before it is published, with release */
    atomic_store_explicit(&slabs->slabs[slab].length, length,
                          memory_order_relaxed);
}

ucs_status_t ucs_arena_slabs_clear(ucs_arena_slabs_t *slabs,
                                   const ucs_arena_ops_t *ops, uint32_t slab)
{
    ucs_status_t status;

    status = ops->unmap(ops->arg, ucs_arena_slabs_memory(slabs, slab),
                        slabs->mask + 1);
    if (status == UCS_OK) {
        set_bare(slabs, slab, 0);
        set_length(slabs, slab, 0);
    }
    return status;
}

ucs_status_t ucs_arena_slabs_map(ucs_arena_slabs_t *slabs,
                                 const ucs_arena_ops_t *ops, uint32_t slab,
                                 size_t length)
{
    ucs_status_t status;

    status = ops->map(ops->arg, ucs_arena_slabs_memory(slabs, slab), length);
    if (status == UCS_OK) {
        set_length(slabs, slab, length);
        set_plain(slabs, slab, 1);
        slabs->num_used = ucs_max(slabs->num_used, slab + 1);
    }
    return status;
}

static void
set_registered(ucs_arena_slabs_t *slabs, uint32_t slab, int is_registered)
{
    size_t length = ucs_arena_slab_length(&slabs->slabs[slab]);

    slabs->num_registered            += is_registered ? 1 : -1;
    slabs->bytes_registered          += is_registered ? length : -length;
    slabs->slabs[slab].is_registered  = is_registered;
    set_bare(slabs, slab, !is_registered);
}

void ucs_arena_slabs_leave_plain(ucs_arena_slabs_t *slabs, uint32_t slab)
{
    set_bare(slabs, slab, 0);
    set_plain(slabs, slab, 1);
}

void ucs_arena_slabs_cut(ucs_arena_slabs_t *slabs, uint32_t slab,
                         size_t length)
{
    set_plain(slabs, slab, 0);
    set_length(slabs, slab, length);
    set_plain(slabs, slab, 1);
}

ucs_status_t ucs_arena_slabs_register(ucs_arena_slabs_t *slabs,
                                      const ucs_arena_ops_t *ops, uint32_t slab)
{
    ucs_status_t status;

    status = ops->reg(ops->arg, ucs_arena_slabs_memory(slabs, slab),
                      ucs_arena_slab_length(&slabs->slabs[slab]),
                      &slabs->slabs[slab].handle);
    if (status == UCS_OK) {
        set_plain(slabs, slab, 0);
        set_registered(slabs, slab, 1);
    }
    return status;
}

void ucs_arena_slab_publish(ucs_arena_slab_t *slab)
{
    if (ucs_arena_slab_is_spoilt(slab)) {
        return;
    }

    /* Flags are added and removed, since somebody who found the slab before it was
     * closed may be about to notice that, see ucs_arena_slab_acquire() */
    if (slab->is_plain) {
        atomic_fetch_or_explicit(&slab->state, UCS_ARENA_SLAB_PLAIN,
                                 memory_order_release);
    } else {
        atomic_fetch_and_explicit(
                &slab->state, ~(UCS_ARENA_SLAB_PLAIN | UCS_ARENA_SLAB_WANTED),
                memory_order_relaxed);
        atomic_fetch_or_explicit(&slab->state, UCS_ARENA_SLAB_OPEN,
                                 memory_order_release);
    }
}

void ucs_arena_slab_unwant(ucs_arena_slab_t *slab)
{
    /* Relaxed: written under the lock */
    atomic_fetch_and_explicit(&slab->state, ~UCS_ARENA_SLAB_WANTED,
                              memory_order_relaxed);
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
    /* Relaxed, as below: written under the lock */
    atomic_fetch_or_explicit(&slab->state, UCS_ARENA_SLAB_SPOILT,
                             memory_order_relaxed);
    atomic_fetch_and_explicit(&slab->state, ~(SERVED | UCS_ARENA_SLAB_WANTED),
                              memory_order_relaxed);
}

void ucs_arena_slab_mend(ucs_arena_slab_t *slab)
{
    atomic_fetch_and_explicit(&slab->state, ~UCS_ARENA_SLAB_SPOILT,
                              memory_order_relaxed);
}

ucs_status_t ucs_arena_slabs_deregister(ucs_arena_slabs_t *slabs,
                                        const ucs_arena_ops_t *ops,
                                        uint32_t slab)
{
    ucs_status_t status;

    if (slabs->slabs[slab].is_plain) {
        set_plain(slabs, slab, 0);
        set_bare(slabs, slab, 1);
        return UCS_OK;
    }

    status = ops->dereg(ops->arg, slabs->slabs[slab].handle);
    if (status != UCS_OK) {
        return status;
    }

    slabs->slabs[slab].handle = NULL;
    set_registered(slabs, slab, 0);
    return UCS_OK;
}

void ucs_arena_slabs_conceal(ucs_arena_slabs_t *slabs)
{
    uint32_t i;

    for (i = 0; i < slabs->num_used; ++i) {
        atomic_fetch_and_explicit(&slabs->slabs[i].state, ~SERVED,
                                  memory_order_relaxed);
    }
}

void ucs_arena_slabs_abandon(ucs_arena_slabs_t *slabs)
{
    uint32_t i;

    for (i = 0; i < slabs->num_used; ++i) {
        atomic_store_explicit(&slabs->slabs[i].state, 0, memory_order_relaxed);
    }
}
