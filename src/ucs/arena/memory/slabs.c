/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "slabs.h"


int ucs_arena_slab_is_open(const ucs_arena_slab_t *slab)
{
    return (atomic_load_explicit(&slab->state, memory_order_relaxed) &
            UCS_ARENA_SLAB_OPEN) != 0;
}

int ucs_arena_slab_is_used(const ucs_arena_slab_t *slab)
{
    return (atomic_load_explicit(&slab->state, memory_order_relaxed) &
            ~UCS_ARENA_SLAB_OPEN) != 0;
}

void *ucs_arena_slabs_memory(const ucs_arena_slabs_t *slabs, uint32_t slab)
{
    return (void*)(slabs->base + ((uintptr_t)slab << slabs->shift));
}

int ucs_arena_slabs_has_vacant(const ucs_arena_slabs_t *slabs)
{
    return slabs->num_open + slabs->num_bare < slabs->num;
}

/* The first one: memory in use stays together, and later slabs become empty */
static uint32_t first_vacant(const ucs_arena_slabs_t *slabs)
{
    uint32_t i;

    for (i = 0; i < slabs->num_used; ++i) {
        if (!slabs->slabs[i].is_bare &&
            !ucs_arena_slab_is_open(&slabs->slabs[i])) {
            break;
        }
    }
    return i;
}

static void set_bare(ucs_arena_slabs_t *slabs, uint32_t slab, int is_bare)
{
    slabs->num_bare            += is_bare - slabs->slabs[slab].is_bare;
    slabs->slabs[slab].is_bare  = is_bare;
}

ucs_status_t ucs_arena_slabs_clear(ucs_arena_slabs_t *slabs,
                                   const ucs_arena_ops_t *ops, uint32_t slab)
{
    ucs_status_t status;

    status = ops->unmap(ops->arg, ucs_arena_slabs_memory(slabs, slab),
                        slabs->mask + 1);
    if (status == UCS_OK) {
        set_bare(slabs, slab, 0);
    }
    return status;
}

ucs_status_t ucs_arena_slabs_open(ucs_arena_slabs_t *slabs,
                                  const ucs_arena_ops_t *ops,
                                  uint32_t *slab_p)
{
    size_t length = slabs->mask + 1;
    ucs_status_t status;
    uint32_t slab;
    void *memory;

    if (!ucs_arena_slabs_has_vacant(slabs)) {
        return UCS_ERR_NO_RESOURCE;
    }

    slab            = first_vacant(slabs);
    memory          = ucs_arena_slabs_memory(slabs, slab);
    slabs->num_used = ucs_max(slabs->num_used, slab + 1);

    status = ops->reserve(ops->arg, length);
    if (status != UCS_OK) {
        return status;
    }

    status = ops->map(ops->arg, memory, length);
    if (status != UCS_OK) {
        goto err_release;
    }

    status = ops->reg(ops->arg, memory, length, &slabs->slabs[slab].handle);
    if (status != UCS_OK) {
        goto err_clear;
    }

    ++slabs->num_open;
    *slab_p = slab;
    return UCS_OK;

err_clear:
    set_bare(slabs, slab, 1);
    ucs_arena_slabs_clear(slabs, ops, slab);
err_release:
    ops->release(ops->arg, length);
    return status;
}

void ucs_arena_slab_publish(ucs_arena_slab_t *slab)
{
    /* Added, since somebody who found it before it was closed may be about to
     * notice that, see ucs_arena_slab_acquire() */
    atomic_fetch_or_explicit(&slab->state, UCS_ARENA_SLAB_OPEN,
                             memory_order_release);
}

int ucs_arena_slab_hide(ucs_arena_slab_t *slab)
{
    uint64_t state = UCS_ARENA_SLAB_OPEN;

    return atomic_compare_exchange_strong_explicit(&slab->state, &state, 0,
                                                   memory_order_acquire,
                                                   memory_order_relaxed);
}

ucs_status_t ucs_arena_slabs_deregister(ucs_arena_slabs_t *slabs,
                                        const ucs_arena_ops_t *ops,
                                        uint32_t slab)
{
    ucs_status_t status;

    status = ops->dereg(ops->arg, slabs->slabs[slab].handle);
    if (status != UCS_OK) {
        return status;
    }

    slabs->slabs[slab].handle = NULL;
    --slabs->num_open;
    set_bare(slabs, slab, 1);
    ops->release(ops->arg, slabs->mask + 1);
    return UCS_OK;
}

void ucs_arena_slabs_clear_all(ucs_arena_slabs_t *slabs,
                               const ucs_arena_ops_t *ops)
{
    uint32_t i;

    for (i = 0; (i < slabs->num_used) && (slabs->num_bare > 0); ++i) {
        if (slabs->slabs[i].is_bare) {
            ucs_arena_slabs_clear(slabs, ops, i);
        }
    }
}

void ucs_arena_slabs_abandon(ucs_arena_slabs_t *slabs)
{
    uint32_t i;

    for (i = 0; i < slabs->num_used; ++i) {
        atomic_store_explicit(&slabs->slabs[i].state, 0, memory_order_relaxed);
    }
}
